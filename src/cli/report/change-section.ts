// The section of a report about changes to the lists.
import { readOwners } from "../../model/entry-owners.ts";
import type { HistoryEvent } from "../../model/history.ts";
import { counted, listed } from "../../model/sentence.ts";
import { dataTable } from "./data-table.ts";
import type { Cell, Column } from "./data-table.ts";
import { html } from "./html.ts";
import type { Markup } from "./html.ts";
import { timeWords } from "./request-words.ts";
import type { MarkedChanges } from "./change-marks.ts";

const valuesShownMax = 3;
const ownersShownMax = 2;

const columns: readonly Column[] = [
  { title: "Mark", kind: "number" },
  { title: "Time", kind: "time", order: "ascending" },
  { title: "Event" },
  { title: "List" },
  { title: "Count", kind: "number" },
  { title: "Entries", kind: "words" },
  { title: "For", kind: "text" },
];

/** Empty without a history. */
export function changeSection(marked: MarkedChanges | undefined): Markup {
  if (marked === undefined) return html``;
  const { changes, left } = marked;
  const note =
    changes.length === 0
      ? "wafsync recorded no changes to the lists in this period."
      : "Each mark is a line in the chart above, at the time of the change.";
  const more = left === 0 ? "" : ` ${counted(left, "earlier change is", "earlier changes are")} not shown.`;
  const rows = changes.map(({ mark, event }) => cellsOf(mark, event));
  const table = dataTable("Changes to the lists", columns, rows);
  return html`<section id="changes">
    <h2>Changes to the lists</h2>
    <p class="quiet">${note}${more}</p>
    ${
      changes.length === 0
        ? []
        : [html`<div class="scroll" role="region" tabindex="0" aria-label="Changes to the lists">${table}</div>`]
    }
  </section>`;
}

function cellsOf(mark: string, { atMs, kind, target, values, owners }: HistoryEvent): Cell[] {
  const names = readOwners(owners).map((owner) => `${owner.kind} ${owner.name}`);
  return [
    { shown: mark, value: Number(mark) },
    { shown: timeWords(atMs), value: atMs },
    { shown: kind },
    { shown: target },
    { shown: String(values.length), value: values.length },
    { shown: listed(values, valuesShownMax) },
    { shown: names.length === 0 ? "–" : listed(names, ownersShownMax) },
  ];
}
