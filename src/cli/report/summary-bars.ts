// The data of the charts, from a summary: over time by reason, by reason, and by country.
import type { RankedRow, TimeBars, TimeSeries } from "./report-charts.ts";
import { otherCategory } from "./report-statistics.ts";
import type { LogReportSummary } from "./report-statistics.ts";
import { countryWords, reasonWords } from "./request-words.ts";

/** The number of reasons with their own color. Pages define one more color for all other reasons. */
const coloredMax = 6;

export function timeBarsOf(summary: LogReportSummary, marks: NonNullable<TimeBars["marks"]> = []): TimeBars {
  return { startMs: summary.barsStartMs, barMs: summary.barMs, series: seriesOf(summary), marks };
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
