// The page that explains why an address is blocked or allowed, with the same lines as `wafsync why`.
import { adviceLines, whyLines, type WhyView } from "../cli/why-view.ts";
import type { Entry } from "../address/entry.ts";
import { shortened } from "../model/sentence.ts";
import { type Frame, framed } from "./frame.ts";
import { html, type Markup } from "./html.ts";
import { copyable, instancePath, nameLengthMax, section } from "./parts.ts";

const lineLengthMax = 4_000;

export interface WhyAnswer {
  readonly address: Entry;
  readonly views: readonly WhyView[];
  /** The options that select the target in suggested commands. */
  readonly words: string;
}

export function whyPage(
  frame: Pick<Frame, "where" | "version" | "searched">,
  answer: WhyAnswer,
  redact: (text: string) => string,
): string {
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
