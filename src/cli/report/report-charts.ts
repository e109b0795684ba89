// The charts of a report as SVG texts. Colours are variables of the page, so that one drawing fits light and dark.
// The only importer of the chart library, so that other commands do not load it.
import { inThousands } from "../../model/sentence.ts";
import { BarChart } from "echarts/charts";
import { GridComponent } from "echarts/components";
import { init, use } from "echarts/core";
import type { EChartsCoreOption } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";
import { otherCategory } from "./report-statistics.ts";
import type { Counted, LogReportSummary } from "./report-statistics.ts";
import { dayMs } from "../../reconcile/logs/log-days.ts";
import { visibleText } from "./html.ts";
import { fittingLabel, labelWidth } from "./label-width.ts";
import { countryWords, reasonWords } from "./report-data.ts";

use([BarChart, GridComponent, SVGRenderer]);

/** So many reasons have a colour of their own; the page defines one more, for the others. */
const colouredMax = 6;
const rowsMax = 12;
/** In characters, and in pixels. */
const labelLengthMax = 100;
const labelWidthMax = 230;
const wide = { width: 1080, height: 320 };
const narrow = { width: 520, rowHeight: 28 };
const fontFamily = "system-ui, sans-serif";
const textStyle = { fontFamily, fontSize: 13, color: "var(--text)" };
const quietStyle = { ...textStyle, color: "var(--quiet)" };
const line = { lineStyle: { color: "var(--line)" } };

export interface TimeChart {
  readonly svg: string;
  /** What the colours mean, from the bottom of the bars upwards. */
  readonly legend: readonly { readonly name: string; readonly color: string }[];
}

/** One bar for each span of time, in which the most frequent reasons have their colours. */
export function timeChart({ days, barMs, categories, overTime }: LogReportSummary): TimeChart {
  const coloured = categories.filter(({ key }) => key !== otherCategory).slice(0, colouredMax);
  const rest = overTime.map((count, bar) => count - coloured.reduce((sum, one) => sum + (one.overTime[bar] ?? 0), 0));
  const parts = coloured.map(({ key, overTime }, place) => ({
    name: reasonWords(key),
    color: `var(--series-${place + 1})`,
    data: overTime,
  }));
  if (rest.some((count) => count > 0)) parts.push({ name: otherCategory, color: "var(--series-other)", data: rest });
  // The axis ends at a round number above this one.
  const highest = 10 * Math.max(...overTime);
  const startMs = days.firstDay * dayMs;
  const svg = draw(wide.width, wide.height, {
    grid: { left: labelWidth(inThousands(highest)) + 16, right: 12, top: 12, bottom: 30, outerBoundsMode: "none" },
    xAxis: {
      type: "category",
      data: overTime.map((_, bar) => barLabel(startMs + bar * barMs, barMs)),
      axisLabel: { ...quietStyle, hideOverlap: true },
      axisTick: { show: false },
      axisLine: line,
    },
    yAxis: { type: "value", minInterval: 1, axisLabel: { ...quietStyle, formatter: inThousands }, splitLine: line },
    series: parts.map(({ name, color, data }) => ({
      ...barSeries(name, data, color),
      stack: "all",
      barCategoryGap: overTime.length > 120 ? "0%" : "20%",
    })),
  });
  return { svg, legend: parts };
}

export interface RankChart {
  readonly svg: string;
  /** What the chart has no room for. */
  readonly left: { readonly rows: number; readonly count: number };
}

export function categoryChart({ categories }: LogReportSummary): RankChart {
  return rankChart(categories.map(({ key, count }) => ({ key: reasonWords(key), count })));
}

export function countryChart({ countries }: LogReportSummary): RankChart {
  return rankChart(countries.items.map(({ key, count }) => ({ key: countryWords(key), count })));
}

/** The most frequent as horizontal bars. */
function rankChart(ranked: readonly Counted[]): RankChart {
  const rows = ranked.slice(0, rowsMax).map(({ key, count }) => ({ label: labelOf(key), count }));
  const rest = ranked.slice(rowsMax);
  const left = Math.max(...rows.map(({ label }) => labelWidth(label))) + 12;
  const formatter = ({ value }: { value: number }): string => inThousands(value);
  const svg = draw(narrow.width, rows.length * narrow.rowHeight, {
    grid: { left, right: 64, top: 0, bottom: 0, outerBoundsMode: "none" },
    xAxis: { type: "value", show: false },
    yAxis: {
      type: "category",
      inverse: true,
      data: rows.map(({ label }) => label),
      axisLabel: textStyle,
      axisTick: { show: false },
      axisLine: { show: false },
    },
    series: [
      {
        ...barSeries(
          "",
          rows.map(({ count }) => count),
          "var(--series-1)",
        ),
        label: { show: true, position: "right", ...textStyle, formatter },
        barWidth: 16,
      },
    ],
  });
  return { svg, left: { rows: rest.length, count: rest.reduce((sum, { count }) => sum + count, 0) } };
}

function barSeries(name: string, data: readonly number[], color: string) {
  return { type: "bar", name, data, itemStyle: { color }, silent: true, emphasis: { disabled: true } };
}

function labelOf(text: string): string {
  return fittingLabel(visibleText(text, labelLengthMax), labelWidthMax);
}

function barLabel(timeMs: number, barMs: number): string {
  const [date = "", time = ""] = new Date(timeMs).toISOString().split("T");
  return barMs >= dayMs ? date.slice(5) : `${date.slice(5)} ${time.slice(0, 5)}`;
}

export function draw(width: number, height: number, option: EChartsCoreOption): string {
  const chart = init(null, null, { renderer: "svg", ssr: true, width, height });
  try {
    chart.setOption({ animation: false, textStyle: { fontFamily }, ...option });
    // Nothing moves below the pointer, so the rules for that can go.
    return chart.renderToSVGString({ useViewBox: true }).replace(/<style[^>]*>[\s\S]*<\/style>/u, "");
  } finally {
    chart.dispose();
  }
}
