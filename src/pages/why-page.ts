// The page that explains why an address is blocked or allowed, with the same lines as `wafsync why`.
import type { InstanceSummary } from "../kinds/summary.ts";
import { adviceLines, whyLines } from "../cli/print-why.ts";
import type { WhyView } from "../cli/why-view.ts";
import type { Entry } from "../address/entry.ts";
import { shortened } from "../model/sentence.ts";
import { type Frame, filterForm, framed } from "./frame.ts";
import { type Markup, html } from "./html.ts";
import { instanceLink } from "./overview-page.ts";
import { type Column, copyable, dataTable, instancePath, moreThan, nameLengthMax, section } from "./parts.ts";

const lineLengthMax = 4_000;
const choicesMax = 100;

export interface WhyAnswer {
  readonly address: Entry;
  readonly views: readonly WhyView[];
  /** The options that select the target in suggested commands. */
  readonly words: string;
}

type WhyFrame = Pick<Frame, "where" | "version"> & { readonly searched: NonNullable<Frame["searched"]> };

export function whyPage(frame: WhyFrame, answer: WhyAnswer, redact: (text: string) => string): string {
  const sections = answer.views.map((view, place) => whySection(`why-${place}`, view, answer, redact));
  const title = `Why ${answer.address}`;
  return framed({ ...frame, title, body: [html`<h1>${title}</h1>`, ...sections] });
}

function whySection(
  id: string,
  view: WhyView,
  { address, words }: WhyAnswer,
  redact: (text: string) => string,
): Markup {
  const [headline = "", ...rest] = whyLines(address, view, (_style, text) => text).map(redact);
  const text = rest.map((line) => shortened(line, lineLengthMax)).join("\n");
  return section(id, shortened(headline, 2 * nameLengthMax), [
    ...(rest.length === 0 ? [] : [html`<pre>${text.trim()}</pre>`]),
    ...adviceLines(address, view, words).map((line) => adviceOf(redact(line))),
    ...view.gaps.map((gap) => html`<p class="quiet">${shortened(redact(gap), lineLengthMax)}</p>`),
    html`<p><a href="${instancePath(view.instance)}">${shortened(view.instance, nameLengthMax)}</a></p>`,
  ]);
}

/** `To block it: wafsync block …`, with a button that copies the command. */
function adviceOf(line: string): Markup {
  const { words = line, command } = /^(?<words>.*?): (?<command>wafsync .*)$/.exec(line)?.groups ?? {};
  return command === undefined ? html`<p>${words}</p>` : html`<p>${words}: ${copyable(command)}</p>`;
}

/** For a search over more WAFs than one request may call. */
export function chooseInstancePage(
  frame: WhyFrame,
  instances: readonly InstanceSummary[],
  { find, instancesMax }: { readonly find: string; readonly instancesMax: number },
): string {
  const { address } = frame.searched;
  const rows = instances.slice(0, choicesMax);
  const path = (instance: string): string => `/why?${String(new URLSearchParams({ address, instance }))}`;
  const columns: readonly Column<InstanceSummary>[] = [
    { title: "WAF", kind: "name", cell: (row) => instanceLink(row, path(row.instance)) },
  ];
  return framed({
    ...frame,
    title: "Choose a WAF",
    body: [
      html`<h1>Choose a WAF</h1>`,
      section("choose", `Which WAF blocks or allows ${shortened(address, 60)}?`, [
        html`<p>
          The answer depends on the lists of each WAF, and the page reads at most ${instancesMax} WAFs for one search.
        </p>`,
        filterForm("/why", { label: "Name or domain", name: "find", value: find }, { address }),
        dataTable("WAFs", columns, rows),
        ...moreThan(rows.length, instances.length),
      ]),
    ],
  });
}
