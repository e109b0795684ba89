// Charts in a page: one drawing for wide screens, one for narrow screens, and the same numbers as a table for screen readers.
import { inThousands } from "../../model/sentence.ts";
import { barLabel } from "./report-charts.ts";
import type { Drawings, RankChart, RankedRow, TimeBars } from "./report-charts.ts";
import type { Cell, Column } from "./data-table.ts";
import { countCell, dataTable } from "./data-table.ts";
import { html, trusted, visibleText } from "./html.ts";
import type { Markup } from "./html.ts";

const nameLengthMax = 160;
/** Attackers can invent as many reasons and countries as they like. */
const rankedRowsMax = 300;

/** `label` says what the chart shows, and its main result. */
export function chartFigure(label: string, { wide, narrow }: Drawings): Markup {
  return html`<figure>
    <div class="wide" role="img" aria-label="${label}">${trusted(wide)}</div>
    <div class="narrow" role="img" aria-label="${label}">${trusted(narrow)}</div>
  </figure>`;
}

export function legendOf({ series }: TimeBars): Markup {
  const items = series.map(({ name, color }) => {
    const swatch = /^var\(--(?<name>series-\w+)\)$/u.exec(color)?.groups?.["name"] ?? "";
    return html`<li><i class="${swatch}"></i>${visibleText(name, nameLengthMax)}</li>`;
  });
  return html`<ul class="legend">
    ${items}
  </ul>`;
}

/** The table omits bars without requests. */
export function timeTable(label: string, { startMs, barMs, series }: TimeBars): Markup {
  const columns: Column[] = [
    { title: "Time (UTC)", kind: "time", order: "ascending" },
    { title: "All", kind: "number" },
    ...series.map(({ name }): Column => ({ title: visibleText(name, nameLengthMax), kind: "number" })),
  ];
  const bars = series[0]?.counts.length ?? 0;
  const rows: Cell[][] = [];
  for (let bar = 0; bar < bars; bar += 1) {
    const counts = series.map(({ counts }) => counts[bar] ?? 0);
    const sum = counts.reduce((total, count) => total + count, 0);
    const timeMs = startMs + bar * barMs;
    if (sum > 0) rows.push([{ shown: barLabel(timeMs, barMs), value: timeMs }, ...[sum, ...counts].map(countCell)]);
  }
  return folded(label, columns, rows);
}

export function rankTable(label: string, column: string, rows: readonly RankedRow[]): Markup {
  const columns: Column[] = [
    { title: column, kind: "words" },
    { title: "Requests", kind: "number", order: "descending" },
  ];
  const shown = rows.slice(0, rankedRowsMax);
  const cells = shown.map(({ label: name, count }): Cell[] => [{ shown: name }, countCell(count)]);
  const left = rows.length - shown.length;
  return folded(label, columns, cells, left === 0 ? "" : `The first ${shown.length} of ${inThousands(rows.length)}.`);
}

/** `12 more, with 345 requests in all.`; empty if the chart has all rows. */
export function leftNote({ left }: RankChart): Markup {
  if (left.rows === 0) return html``;
  return html`<p class="quiet">${inThousands(left.rows)} more, with ${inThousands(left.count)} requests in all.</p>`;
}

function folded(label: string, columns: readonly Column[], rows: readonly (readonly Cell[])[], note = ""): Markup {
  return html`<details>
    <summary>Show as a table</summary>
    ${note === "" ? [] : [html`<p class="quiet">${note}</p>`]}
    <div class="scroll" role="region" tabindex="0" aria-label="${label}">${dataTable(label, columns, rows)}</div>
  </details>`;
}
