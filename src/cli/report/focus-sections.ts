// The sections of a report about single clients or networks: which lists contain them and why, and their newest requests.
import { listNames } from "../../model/declared.ts";
import type { Entry } from "../../model/entry.ts";
import { inThousands, listed } from "../../model/sentence.ts";
import type { Cell, Column } from "./data-table.ts";
import { html, visibleText } from "./html.ts";
import type { Markup } from "./html.ts";
import { agentWords, reasonWords } from "./request-words.ts";
import { timeCell } from "./client-sections.ts";
import { listWords } from "./list-mark.ts";
import type { ListState } from "./report-clients.ts";
import type { FocusView, ReportData } from "./report-data.ts";
import { tableSection } from "./table-section.ts";

const lineLengthMax = 400;
const partsShownMax = 10;

export function focusSections({ focus }: ReportData): Markup[] {
  return focus.map(focusSection);
}

function focusSection(view: FocusView): Markup {
  const { entry, why } = view;
  const lines = why.map((line) => visibleText(line, lineLengthMax)).join("\n");
  const explanation =
    why.length === 0
      ? html`<p class="quiet">To see which rules are responsible, run the report with -f and the folder of the WAF.</p>`
      : html`<pre tabindex="0" aria-label="Why ${entry} is or is not on the lists">${lines}</pre>`;
  return html`<section class="focus">
    <h2>${entry} on the lists</h2>
    ${sentencesOf(view).map((sentence) => html`<p>${sentence}</p>`)} ${explanation}
  </section>`;
}

function sentencesOf({ entry, lists, inside }: FocusView): string[] {
  const state = stateSentence(entry, lists);
  const parts = listNames.flatMap((list) => {
    const entries = inside[list].filter((one) => one !== entry);
    return entries.length === 0 ? [] : [`The ${list} contains parts of it: ${listed(entries, partsShownMax)}.`];
  });
  return [state, ...parts];
}

function stateSentence(entry: Entry, lists: ListState): string {
  if (lists.state === "NoAddress") return `No entry of the lists covers all of ${entry}.`;
  if (lists.state === "Unknown") return `A list could not be read, so it is unknown whether ${entry} is on it.`;
  return `${entry} is ${listWords(entry, lists)}.`;
}

const columns: readonly Column[] = [
  { title: "Time", kind: "time", order: "descending" },
  { title: "Client", kind: "address" },
  { title: "Method", kind: "text" },
  { title: "Status", kind: "number" },
  { title: "Path", kind: "path" },
  { title: "Reason", kind: "text" },
  { title: "User agent", kind: "text" },
];

/** Empty for a report about all clients. */
export function newestSection({ newest, summary }: ReportData): Markup {
  const rows = newest.map(({ timeMs, client, method, status, path, reason, agent }): Cell[] => [
    timeCell(timeMs),
    { shown: client },
    { shown: method },
    { shown: String(status), value: status },
    { shown: path },
    { shown: reasonWords(reason) },
    { shown: agentWords(agent) },
  ]);
  const title =
    newest.length < summary.total ? `The newest ${inThousands(newest.length)} requests` : "All requests, newest first";
  return tableSection({ id: "newest", title, columns, rows });
}
