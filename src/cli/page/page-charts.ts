// Draws the charts of the page as SVG, like those of the report. Style attributes would need an unsafe content security policy,
// so the style sheet sets the fonts.
import { LineChart } from "echarts/charts";
import { use } from "echarts/core";
import { listNames } from "../../model/declared.ts";
import { inThousands } from "../../model/sentence.ts";
import { dayMs } from "../../model/time-text.ts";
import type { Markup } from "../report/html.ts";
import { html, trusted } from "../report/html.ts";
import { draw, labelledGrid } from "../report/charts.ts";
import type { EntriesOverTime } from "./entries-over-time.ts";
import { scrolling, shown } from "./page-frame.ts";

use([LineChart]);

const width = 1080;
const height = 240;
const line = { lineStyle: { color: "var(--line)" } };
const axisLabel = { color: "var(--quiet)", fontSize: 13 };

/** The SVG without style attributes, which the page's policy forbids. */
export function withoutStyles(svg: string): string {
  return svg.replaceAll(/ style="[^"]*"/g, "");
}

/** In a box that scrolls sideways, also by keyboard: a chart that is too narrow can't be read. */
export function figure(words: string, svg: string, kind = ""): Markup {
  const label = shown(words, 600);
  return scrolling(
    label,
    html`<figure role="img" aria-label="${label}" class="${kind}">${trusted(withoutStyles(svg))}</figure>`,
  );
}

/** Both lists as lines, with a legend. */
export function entriesChart({ startMs, stepMs, counts }: EntriesOverTime): Markup {
  const series = listNames.map((list, place) => ({
    type: "line",
    step: "end",
    name: list,
    data: counts[list],
    symbol: "none",
    silent: true,
    color: `var(--series-${place + 1})`,
    lineStyle: { width: 2, color: `var(--series-${place + 1})` },
  }));
  const svg = draw(width, height, {
    grid: { ...labelledGrid, right: 12, top: 12 },
    xAxis: {
      type: "category",
      boundaryGap: false,
      data: counts.blocklist.map((_, step) => timeLabel(startMs + step * stepMs, stepMs)),
      axisLabel: { ...axisLabel, hideOverlap: true },
      axisTick: { show: false },
      axisLine: line,
    },
    yAxis: { type: "value", minInterval: 1, axisLabel: { ...axisLabel, formatter: inThousands }, splitLine: line },
    series,
  });
  const words = listNames.map((list) => `${list} ${trend(counts[list])}`).join(", ");
  return html`${figure(`Managed entries over time: ${words}`, svg, "wide")}
    <ul class="legend">
      ${listNames.map((list, place) => html`<li><i class="color-${place + 1}"></i>${list}: ${trend(counts[list])}</li>`)}
    </ul>`;
}

function trend(counts: readonly number[]): string {
  return `from ${inThousands(counts[0] ?? 0)} to ${inThousands(counts.at(-1) ?? 0)}`;
}

function timeLabel(timeMs: number, stepMs: number): string {
  const [date = "", time = ""] = new Date(timeMs).toISOString().split("T");
  return stepMs >= dayMs ? date.slice(5) : `${date.slice(5)} ${time.slice(0, 5)}`;
}
