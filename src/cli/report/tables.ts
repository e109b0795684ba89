// The tables of a report, which become cards on narrow screens.
import { inThousands } from "../../model/sentence.ts";
import { html, visibleText } from "./html.ts";
import type { Markup } from "./html.ts";
import type { Ranking } from "./report-statistics.ts";

export interface Column {
  readonly title: string;
  /** A class of the cells: `number` aligns to the right; `words` and `path` take the free space. */
  readonly kind?: "number" | "address" | "path" | "text" | "time" | "words";
}

export type Cell = Markup | string;

/** In characters. */
const cellLengthMax = 160;

/** @param label the name of the table for screen readers */
export function dataTable(label: string, columns: readonly Column[], rows: readonly (readonly Cell[])[]): Markup {
  // Explicit roles, because the styles of narrow screens remove the implicit ones.
  return html`<table class="data" role="table" aria-label="${label}">
    <thead role="rowgroup">
      <tr role="row">
        ${columns.map(({ title, kind }) => html`<th role="columnheader" scope="col" class="${kind ?? ""}">${title}</th>`)}
      </tr>
    </thead>
    <tbody role="rowgroup">
      ${rows.map((cells) => rowOf(columns, cells))}
    </tbody>
  </table>`;
}

function rowOf(columns: readonly Column[], cells: readonly Cell[]): Markup {
  const parts = cells.map((cell, place) => {
    const { title, kind } = columns[place] ?? { title: "" };
    const content = typeof cell === "string" ? visibleText(cell, cellLengthMax) : cell;
    return html`<td role="cell" class="${kind ?? ""}" data-label="${title}"><span>${content}</span></td>`;
  });
  return html`<tr role="row">
    ${parts}
  </tr>`;
}

interface TableSection {
  readonly id: string;
  readonly title: string;
  readonly ranking: Ranking<unknown>;
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Cell[])[];
}

/** Empty without rows. */
export function tableSection({ id, title, ranking, columns, rows }: TableSection): Markup {
  if (rows.length === 0) return html``;
  return html`<section id="${id}">
    <h2>${title}</h2>
    ${leftOutNote(ranking)}
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
