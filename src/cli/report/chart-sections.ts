// The charts of a report: over time by reason, by reason, and by country. Each has one drawing for wide screens, one for narrow
// screens, and the same numbers as a table.
import { inThousands } from "../../model/sentence.ts";
import { barLabel, rankChart, timeChart } from "./charts.ts";
import type { Drawings, RankChart, RankedRow, TimeBars, TimeSeries } from "./charts.ts";
import { html, trusted, visibleText } from "./html.ts";
import type { Markup } from "./html.ts";
import { otherCategory } from "./report-statistics.ts";
import type { LogReportSummary } from "./report-statistics.ts";
import { countryWords, reasonWords, timeWords } from "./request-words.ts";
import { dataTable } from "./tables.ts";
import type { Cell, Column } from "./tables.ts";

const labelLengthMax = 60;
const nameLengthMax = 160;
/** Attackers can invent as many reasons and countries as they like. */
const rankedRowsMax = 300;
/** The number of reasons with their own color. Pages define one more color for all other reasons. */
const coloredMax = 6;

export function chartSections(summary: LogReportSummary): Markup {
  const bars = timeBarsOf(summary);
  return html`<section id="time">
      <h2>Over time</h2>
      ${chartFigure(timeWordsOf(summary), timeChart(bars))} ${legendOf(bars)}
      ${timeTable("Blocked requests over time", bars)}
    </section>
    <div class="pair">
      ${rankSection("reason", "Reason", reasonRows(summary))} ${rankSection("country", "Country", countryRows(summary))}
    </div>`;
}

function rankSection(kind: string, column: string, rows: readonly RankedRow[]): Markup {
  const chart = rankChart(rows);
  const [first] = rows;
  const main = first === undefined ? "" : `, most often ${visibleText(first.label, labelLengthMax)}`;
  return html`<section id="by-${kind}">
    <h2>By ${kind}</h2>
    ${chartFigure(`Blocked requests by ${kind}${main}`, chart)} ${leftNote(chart)}
    ${rankTable(`Blocked requests by ${kind}`, column, rows)}
  </section>`;
}

function timeWordsOf({ overTime, barMs, barsStartMs }: LogReportSummary): string {
  const highest = Math.max(...overTime);
  const at = timeWords(barsStartMs + overTime.indexOf(highest) * barMs);
  return `Blocked requests over time by reason. The highest bar has ${inThousands(highest)} requests and starts at ${at}.`;
}

/** `label` says what the chart shows, and its main result. */
function chartFigure(label: string, { wide, narrow }: Drawings): Markup {
  return html`<figure>
    <div class="wide" role="img" aria-label="${label}">${trusted(wide)}</div>
    <div class="narrow" role="img" aria-label="${label}">${trusted(narrow)}</div>
  </figure>`;
}

function legendOf({ series }: TimeBars): Markup {
  const items = series.map(({ name, color }) => {
    const swatch = /^var\(--(?<name>series-\w+)\)$/u.exec(color)?.groups?.["name"] ?? "";
    return html`<li><i class="${swatch}"></i>${visibleText(name, nameLengthMax)}</li>`;
  });
  return html`<ul class="legend">
    ${items}
  </ul>`;
}

/** The table omits bars without requests. */
function timeTable(label: string, { startMs, barMs, series }: TimeBars): Markup {
  const columns: Column[] = [
    { title: "Time (UTC)", kind: "time" },
    { title: "All", kind: "number" },
    ...series.map(({ name }): Column => ({ title: visibleText(name, nameLengthMax), kind: "number" })),
  ];
  const bars = series[0]?.counts.length ?? 0;
  const rows: Cell[][] = [];
  for (let bar = 0; bar < bars; bar += 1) {
    const counts = series.map(({ counts }) => counts[bar] ?? 0);
    const sum = counts.reduce((total, count) => total + count, 0);
    const timeMs = startMs + bar * barMs;
    if (sum > 0) rows.push([barLabel(timeMs, barMs), ...[sum, ...counts].map(inThousands)]);
  }
  return folded(label, columns, rows);
}

function rankTable(label: string, column: string, rows: readonly RankedRow[]): Markup {
  const columns: Column[] = [
    { title: column, kind: "words" },
    { title: "Requests", kind: "number" },
  ];
  const shown = rows.slice(0, rankedRowsMax);
  const cells = shown.map(({ label: name, count }): Cell[] => [name, inThousands(count)]);
  const left = rows.length - shown.length;
  return folded(label, columns, cells, left === 0 ? "" : `The first ${shown.length} of ${inThousands(rows.length)}.`);
}

/** `12 more, with 345 requests in all.`; empty if the chart has all rows. */
function leftNote({ left }: RankChart): Markup {
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

export function timeBarsOf(summary: LogReportSummary): TimeBars {
  return { startMs: summary.barsStartMs, barMs: summary.barMs, series: seriesOf(summary) };
}

export function reasonRows({ categories }: LogReportSummary): RankedRow[] {
  return categories.map(({ key, count }) => ({ label: reasonWords(key), count }));
}

export function countryRows({ countries }: LogReportSummary): RankedRow[] {
  return countries.items.map(({ key, count }) => ({ label: countryWords(key), count }));
}

function seriesOf({ categories, overTime }: LogReportSummary): TimeSeries[] {
  const colored = categories.filter(({ key }) => key !== otherCategory).slice(0, coloredMax);
  const series = colored.map(({ key, overTime: counts }, place): TimeSeries => {
    return { name: reasonWords(key), color: `var(--series-${place + 1})`, counts };
  });
  const rest = overTime.map((count, bar) => count - colored.reduce((sum, one) => sum + (one.overTime[bar] ?? 0), 0));
  if (rest.some((count) => count > 0)) {
    series.push({ name: otherCategory, color: "var(--series-other)", counts: rest });
  }
  return series;
}
