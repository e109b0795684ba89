// The charts of a report, each with its numbers as a table.
import { inThousands } from "../../model/sentence.ts";
import { rankChart, timeChart } from "./report-charts.ts";
import type { RankedRow, TimeBars } from "./report-charts.ts";
import { chartFigure, leftNote, legendOf, rankTable, timeTable } from "./chart-figure.ts";
import { html, visibleText } from "./html.ts";
import type { Markup } from "./html.ts";
import type { LogReportSummary } from "./report-statistics.ts";
import { timeWords } from "./request-words.ts";
import { countryRows, reasonRows, timeBarsOf } from "./summary-bars.ts";

const nameLengthMax = 60;

export function chartSections(summary: LogReportSummary, marks: NonNullable<TimeBars["marks"]>): Markup {
  const bars = timeBarsOf(summary, marks);
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
  const main = first === undefined ? "" : `, most often ${visibleText(first.label, nameLengthMax)}`;
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
