// The charts of a report, each with its numbers as a table.
import { inThousands } from "../../model/sentence.ts";
import { rankChart, timeChart } from "./report-charts.ts";
import type { RankedRow, TimeBars, TimeSeries } from "./report-charts.ts";
import { chartFigure, leftNote, legendOf, rankTable, timeTable } from "./chart-figure.ts";
import { html, visibleText } from "./html.ts";
import type { Markup } from "./html.ts";
import { otherCategory } from "./report-statistics.ts";
import type { LogReportSummary } from "./report-statistics.ts";
import { countryWords, reasonWords, timeWords } from "./request-words.ts";

/** The number of reasons with a color of their own; the page defines one more for the others. */
const coloredMax = 6;
const nameLengthMax = 60;

export function chartSections(summary: LogReportSummary, marks: NonNullable<TimeBars["marks"]>): Markup {
  const bars: TimeBars = { startMs: summary.barsStartMs, barMs: summary.barMs, series: seriesOf(summary), marks };
  const reasons = summary.categories.map(({ key, count }) => ({ label: reasonWords(key), count }));
  const countries = summary.countries.items.map(({ key, count }) => ({ label: countryWords(key), count }));
  return html`<section id="time">
      <h2>Over time</h2>
      ${chartFigure(timeWordsOf(summary), timeChart(bars))} ${legendOf(bars)}
      ${timeTable("Blocked requests over time", bars)}
    </section>
    <div class="pair">
      ${rankSection("reason", "Reason", reasons)} ${rankSection("country", "Country", countries)}
    </div>`;
}

function rankSection(kind: string, column: string, rows: readonly RankedRow[]): Markup {
  const chart = rankChart(rows);
  const [first] = rows;
  const main = first === undefined ? "" : `, most often ${visibleText(first.label, nameLengthMax)}`;
  return html`<section id="by-${kind}">
    <h2>By ${kind}</h2>
    ${chartFigure(`Blocked requests by ${kind}${main}`, chart)} ${leftNote(chart)}
    ${rankTable(`Blocked requests by ${kind}`, column, rows.slice(0, tableRowsMax))}
  </section>`;
}

/** Attackers can invent as many reasons and countries as they like. */
const tableRowsMax = 300;

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

function timeWordsOf({ overTime, barMs, barsStartMs }: LogReportSummary): string {
  const highest = Math.max(...overTime);
  const at = timeWords(barsStartMs + overTime.indexOf(highest) * barMs);
  return `Blocked requests over time by reason. The highest bar has ${inThousands(highest)} requests and starts at ${at}.`;
}
