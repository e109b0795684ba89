// Tables that the script of a page can sort by each column, and that become cards on narrow screens.
import { inThousands } from "../../model/sentence.ts";
import { html, visibleText } from "./html.ts";
import type { Markup } from "./html.ts";

export interface Column {
  readonly title: string;
  /** A class of the cells: `number` aligns to the right and sorts by value; `words` and `path` take the free space. */
  readonly kind?: "number" | "address" | "path" | "text" | "time" | "words";
  /** Set if the table is already sorted by this column. */
  readonly order?: "ascending" | "descending";
}

/** `value` is the sort key, if it differs from the text of the cell. */
export interface Cell {
  readonly shown: Markup | string;
  readonly value?: number | string;
}

/** In characters. */
const cellLengthMax = 160;

export function countCell(count: number): Cell {
  return { shown: inThousands(count), value: count };
}

/** @param label the name of the table for screen readers */
export function dataTable(label: string, columns: readonly Column[], rows: readonly (readonly Cell[])[]): Markup {
  // Explicit roles, because the styles of narrow screens remove the implicit ones.
  return html`<table class="data" role="table" aria-label="${label}">
    <thead role="rowgroup">
      <tr role="row">
        ${columns.map(headOf)}
      </tr>
    </thead>
    <tbody role="rowgroup">
      ${rows.map((cells) => rowOf(columns, cells))}
    </tbody>
  </table>`;
}

function headOf({ title, kind, order }: Column): Markup {
  const sort = order === undefined ? html`` : html` aria-sort="${order}"`;
  return html`<th role="columnheader" scope="col" class="${kind ?? ""}" ${sort}>${title}</th>`;
}

function rowOf(columns: readonly Column[], cells: readonly Cell[]): Markup {
  const parts = cells.map(({ shown, value }, place) => {
    const { title, kind } = columns[place] ?? { title: "" };
    const sorted = value === undefined ? html`` : html` data-value="${value}"`;
    const content = typeof shown === "string" ? visibleText(shown, cellLengthMax) : shown;
    return html`<td role="cell" class="${kind ?? ""}" data-label="${title}" ${sorted}><span>${content}</span></td>`;
  });
  return html`<tr role="row">
    ${parts}
  </tr>`;
}
