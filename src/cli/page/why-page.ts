// The page that explains why an address is blocked or allowed, with the same lines as `wafsync why`.
import type { Entry } from "../../model/entry.ts";
import { listed } from "../../model/sentence.ts";
import { adviceLines, whyLines } from "../print-why.ts";
import type { Markup } from "../report/html.ts";
import { html } from "../report/html.ts";
import type { WhyView } from "../why-view.ts";
import type { Frame } from "./page-frame.ts";
import { framed, instancePath, shown, shownLines } from "./page-frame.ts";

const namesShownMax = 20;

export interface WhyAnswer {
  readonly address: Entry;
  readonly views: readonly WhyView[];
  /** The options that select the target in suggested commands. */
  readonly words: string;
}

type WhyFrame = Pick<Frame, "where" | "version"> & { readonly searched: NonNullable<Frame["searched"]> };

export function whyPage(frame: WhyFrame, answer: WhyAnswer, redact: (text: string) => string): string {
  const sections = answer.views.map((view) => whySection(view, answer, redact));
  const title = `Why ${answer.address}`;
  return framed({ ...frame, title, body: [html`<h1>${title}</h1>`, ...sections] });
}

function whySection(view: WhyView, { address, words }: WhyAnswer, redact: (text: string) => string): Markup {
  const [headline = "", ...rest] = whyLines(address, view, (_style, text) => text).map(redact);
  const advice = adviceLines(address, view, words).map(redact);
  const lines = [...rest.slice(rest[0] === "" ? 1 : 0), ...advice.flatMap((line) => ["", line])];
  const gaps = view.gaps.map((gap) => html`<p class="quiet">${shown(redact(gap), 2_000)}</p>`);
  const text = lines.join("\n").trim();
  return html`<section>
    <h2 class="verdict">${shown(headline, 600)}</h2>
    ${text === "" ? "" : html`<pre>${shownLines(text.split("\n"))}</pre>`} ${gaps}
    <p><a href="${instancePath(view.instance)}">${shown(view.instance)}</a></p>
  </section>`;
}

/** For a search over more WAFs than one request may call. */
export function chooseInstancePage(frame: WhyFrame, instances: readonly string[], instancesMax: number): string {
  const { address } = frame.searched;
  const options = instances.map((name) => html`<option value="${name}"></option>`);
  return framed({
    ...frame,
    title: "Choose a WAF",
    body: [
      html`<h1>Choose a WAF</h1>`,
      html`<section>
        <p>
          The answer depends on the lists of each WAF, and the page reads at most ${instancesMax} WAFs for one search.
        </p>
        <form action="/why" method="get">
          <input type="hidden" name="address" value="${shown(address, 60)}" />
          <label for="instance">WAF, as namespace/name</label>
          <input id="instance" name="instance" list="names" maxlength="320" required />
          <datalist id="names">${options.slice(0, 2 * namesShownMax)}</datalist>
          <button type="submit">Search</button>
        </form>
        <p class="quiet">For example ${shown(listed(instances, namesShownMax), 2_000)}.</p>
      </section>`,
    ],
  });
}
