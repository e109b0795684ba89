// Draws bar charts as SVG. Colors are CSS variables of the page, so that one drawing fits light and dark mode. Each chart is
// drawn twice, for wide and for narrow screens. A page with a strict policy can contain the SVG: it has no style elements or
// attributes. Loads the chart library: import this module only on demand.
import { BarChart } from "echarts/charts";
import { GridComponent } from "echarts/components";
import { init, use } from "echarts/core";
import type { EChartsCoreOption } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";
import { inThousands } from "../../model/sentence.ts";
import { dayMs } from "../../model/time-text.ts";
import { html, visibleText } from "./html.ts";
import { timeWords } from "./request-words.ts";

use([BarChart, GridComponent, SVGRenderer]);

const rankedMax = 12;
/** In characters. */
const labelLengthMax = 100;
const fontFamily = "system-ui, sans-serif";
const textStyle = { fontFamily, fontSize: 13, color: "var(--text)" };
const quietStyle = { ...textStyle, color: "var(--quiet)" };
const line = { lineStyle: { color: "var(--line)" } };

/** In pixels. */
interface Size {
  readonly width: number;
  readonly height: number;
}
const timeSizes: readonly [Size, Size] = [
  { width: 1080, height: 320 },
  { width: 340, height: 240 },
];
/** A row is one bar. */
const rankSizes = [
  { width: 520, rowHeight: 28, labelWidth: 230 },
  { width: 320, rowHeight: 28, labelWidth: 170 },
] as const;
/** The space for the number behind the longest bar, in pixels. */
const numberWidth = 90;
/** The library makes room for the labels of the axes. */
export const labelledGrid = { left: 12, bottom: 8, outerBoundsMode: "same", outerBoundsContain: "axisLabel" } as const;

/** The same chart for wide and for narrow screens. */
export interface Drawings {
  readonly wide: string;
  readonly narrow: string;
}

export interface TimeSeries {
  readonly name: string;
  /** For example `var(--series-1)`. */
  readonly color: string;
  /** One number for each bar. */
  readonly counts: readonly number[];
}

export interface TimeBars {
  readonly startMs: number;
  readonly barMs: number;
  /** Stacked, from the bottom upwards. */
  readonly series: readonly TimeSeries[];
}

export function timeChart(bars: TimeBars): Drawings {
  const [wide, narrow] = timeSizes.map((size) => drawTime(bars, size));
  return { wide: wide ?? "", narrow: narrow ?? "" };
}

export interface RankedRow {
  readonly label: string;
  readonly count: number;
}

export interface RankChart extends Drawings {
  /** Rows for which there is no space. */
  readonly left: { readonly rows: number; readonly count: number };
}

/** The first rows as horizontal bars. */
export function rankChart(ranked: readonly RankedRow[]): RankChart {
  const rows = ranked.slice(0, rankedMax);
  const rest = ranked.slice(rankedMax);
  const [wide, narrow] = rankSizes.map((size) => drawRanks(rows, size));
  const left = { rows: rest.length, count: rest.reduce((sum, { count }) => sum + count, 0) };
  return { wide: wide ?? "", narrow: narrow ?? "", left };
}

/** `11-21 15:00`, or `11-21` for a bar of a day. */
export function barLabel(timeMs: number, barMs: number): string {
  const words = timeWords(timeMs).slice(5);
  return barMs >= dayMs ? words.slice(0, 5) : words;
}

function drawTime({ startMs, barMs, series }: TimeBars, { width, height }: Size): string {
  const bars = series[0]?.counts.length ?? 0;
  const labels = Array.from({ length: bars }, (_, bar) => barLabel(startMs + bar * barMs, barMs));
  const sums = labels.map((_, bar) => series.reduce((sum, { counts }) => sum + (counts[bar] ?? 0), 0));
  const svg = draw(width, height, {
    // The last label extends beyond the last bar.
    grid: { ...labelledGrid, right: 48, top: 12 },
    xAxis: {
      type: "category",
      data: labels,
      axisLabel: { ...quietStyle, hideOverlap: true },
      axisTick: { show: false },
      axisLine: line,
    },
    yAxis: {
      type: "value",
      minInterval: 1,
      splitNumber: height < 300 ? 3 : 5,
      axisLabel: { ...quietStyle, formatter: inThousands },
      splitLine: line,
    },
    series: series.map(({ name, color, counts }) => ({
      ...barSeries(name, counts, color),
      stack: "all",
      barCategoryGap: bars > 120 ? "0%" : "20%",
    })),
  });
  return withTooltips(svg, (place, bar) => {
    const name = visibleText(series[place]?.name ?? "", labelLengthMax);
    return `${labels[bar] ?? ""}: ${inThousands(series[place]?.counts[bar] ?? 0)} ${name} (of ${inThousands(sums[bar] ?? 0)})`;
  });
}

function drawRanks(rows: readonly RankedRow[], { width, rowHeight, labelWidth }: (typeof rankSizes)[number]): string {
  const labels = rows.map(({ label }) => visibleText(label, labelLengthMax));
  const formatter = ({ value }: { value: number }): string => inThousands(value);
  const svg = draw(width, rows.length * rowHeight, {
    grid: { ...labelledGrid, right: numberWidth, top: 0, bottom: 0 },
    xAxis: { type: "value", show: false },
    yAxis: {
      type: "category",
      inverse: true,
      data: labels,
      axisLabel: { ...textStyle, width: labelWidth, overflow: "truncate", ellipsis: "…" },
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
  return withTooltips(svg, (_, place) => {
    const { label, count } = rows[place] ?? { label: "", count: 0 };
    return `${visibleText(label, labelLengthMax)}: ${inThousands(count)}`;
  });
}

function barSeries(name: string, data: readonly number[], color: string) {
  return { type: "bar", name, data, itemStyle: { color }, silent: true, emphasis: { disabled: true } };
}

/** Without inline styles, which the policy of a page forbids. */
export function draw(width: number, height: number, option: EChartsCoreOption): string {
  const chart = init(null, null, { renderer: "svg", ssr: true, width, height });
  try {
    chart.setOption({ animation: false, textStyle: { fontFamily }, ...option });
    return unstyledSvg(chart.renderToSVGString({ useViewBox: true }));
  } finally {
    chart.dispose();
  }
}

const styleElement = /<style[^>]*>[\s\S]*?<\/style>/gu;
const styleOrClass = / (?:style|class)="[^"]*"/gu;
const emptyLine = /^\s*\n/gmu;
/** The library marks bars with the positions of their series and value. Paths of marks have these, too, but are not closed. */
const bar =
  /<path d="(?<shape>[^"]*Z)" fill="(?<fill>[^"]*)"[^>]*? ecmeta_series_index="(?<series>\d+)" ecmeta_data_index="(?<place>\d+)"[^>]*><\/path>\n?/gu;
const libraryData = / ecmeta_[a-z_]+="[^"]*"/gu;
const flat = /^M\S+ \S+l(?:0 |\S+ 0l0 0l)/u;

/** Without style elements, style attributes and classes: the styles of the page apply. */
function unstyledSvg(svg: string): string {
  return svg.replace(styleElement, "").replace(styleOrClass, "").replace(emptyLine, "");
}

/** @param tooltipOf returns the tooltip of a bar by the positions of its series and value */
function withTooltips(svg: string, tooltipOf: (series: number, place: number) => string): string {
  return svg
    .replace(bar, (_whole, shape: string, fill: string, series: string, place: string) => {
      if (flat.test(shape)) return "";
      const tooltip = tooltipOf(Number(series), Number(place));
      return html`<path class="bar" d="${shape}" fill="${fill}"><title>${tooltip}</title></path>`.text;
    })
    .replace(libraryData, "");
}
