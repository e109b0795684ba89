// A section of a report that consists of one table.
import { inThousands } from "../../model/sentence.ts";
import { dataTable } from "./data-table.ts";
import type { Cell, Column } from "./data-table.ts";
import { html } from "./html.ts";
import type { Markup } from "./html.ts";
import type { Ranking } from "./report-statistics.ts";

export interface TableSection {
  readonly id: string;
  readonly title: string;
  /** Undefined if the table shows everything. */
  readonly ranking?: Ranking<unknown>;
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Cell[])[];
}

/** Empty without rows. */
export function tableSection({ id, title, ranking, columns, rows }: TableSection): Markup {
  if (rows.length === 0) return html``;
  return html`<section id="${id}">
    <h2>${title}</h2>
    ${ranking === undefined ? [] : [leftOutNote(ranking)]}
    <div class="wide-table">${dataTable(title, columns, rows)}</div>
  </section>`;
}

/** What the table does not show, and how exact its numbers are. */
function leftOutNote({ items, shortMax, distinctMin }: Ranking<unknown>): Markup {
  const left = distinctMin - items.length;
  if (shortMax > 0) {
    return html`<p class="quiet">
      There are more than ${inThousands(distinctMin)} different values, and only the most frequent are counted. Each
      count may be too low by at most ${inThousands(shortMax)}, and the time of a first request may be too late.
    </p>`;
  }
  if (left <= 0) return html``;
  return html`<p class="quiet">The ${inThousands(items.length)} most frequent of ${inThousands(distinctMin)}.</p>`;
}
