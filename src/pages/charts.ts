// Draws charts over time as SVG: stacked bars, or stepped lines. Colors are classes of the style sheet, so that one drawing fits light and
// dark mode. Each chart is drawn twice, for wide and for narrow screens.
import { inThousands, shortened } from "../model/sentence.ts";
import { dayMs } from "../model/time-text.ts";
import type { Markup } from "./html.ts";
import { html } from "./html.ts";

/** In characters. */
const nameLengthMax = 100;
/** In pixels, like all sizes here. */
const wide = { width: 1080, height: 320 } as const;
const narrow = { width: 340, height: 240 } as const;
const margin = { top: 12, right: 12, bottom: 26 } as const;
const characterWidth = 8;
const ticksMax = 5;

export interface TimeSeries {
  readonly name: string;
  /** A class of the style sheet: `series-1` to `series-6`, or `series-other`. */
  readonly color: string;
  /** One number for each step. */
  readonly counts: readonly number[];
}

export interface OverTime {
  readonly startMs: number;
  readonly stepMs: number;
  readonly series: readonly TimeSeries[];
}

/** Two drawings, of which the style sheet shows one, and a legend. @param label says what the chart shows, and its main result */
export function timeChart(label: string, kind: "bars" | "lines", over: OverTime): Markup {
  const legend = over.series.map(
    ({ name, color }) => html`<li><i class="${color}"></i>${shortened(name, nameLengthMax)}</li>`,
  );
  return html`<figure>
      <div class="wide" role="img" aria-label="${label}">${drawing(kind, over, wide)}</div>
      <div class="narrow" role="img" aria-label="${label}">${drawing(kind, over, narrow)}</div>
    </figure>
    <ul class="legend">
      ${legend}
    </ul>`;
}

/** `11-21 15:00`, or `11-21` for a step of a day. */
export function stepLabel(timeMs: number, stepMs: number): string {
  const length = stepMs >= dayMs ? 10 : 16;
  return new Date(timeMs).toISOString().slice(5, length).replace("T", " ");
}

/** Where a step and a count are in the drawing. */
interface Scale {
  readonly x: (step: number) => number;
  readonly y: (count: number) => number;
}

function drawing(kind: "bars" | "lines", over: OverTime, { width, height }: typeof wide | typeof narrow): Markup {
  const { startMs, stepMs, series } = over;
  const steps = series[0]?.counts.length ?? 0;
  const sums = Array.from({ length: steps }, (_, step) =>
    series.reduce((sum, { counts }) => sum + (counts[step] ?? 0), 0),
  );
  const highest = Math.max(1, ...(kind === "bars" ? sums : series.flatMap(({ counts }) => counts)));
  const tick = tickFor(highest);
  const top = Math.ceil(highest / tick) * tick;
  const left = characterWidth * (inThousands(top).length + 1);
  const bottom = height - margin.bottom;
  const stepWidth = (width - left - margin.right) / steps;
  const x = (step: number): number => rounded(left + step * stepWidth);
  const y = (count: number): number => rounded(bottom - (count / top) * (bottom - margin.top));
  const labels = Array.from({ length: steps }, (_, step) => stepLabel(startMs + step * stepMs, stepMs));
  const labelWidth = characterWidth * (labels[0]?.length ?? 0);
  const every = Math.ceil((labelWidth + 2 * characterWidth) / stepWidth);
  const timeLabels = labels.flatMap((text, step) =>
    step % every === 0 && x(step) + labelWidth <= width
      ? [html`<text x="${x(step)}" y="${height - 6}">${text}</text>`]
      : [],
  );
  const grid = Array.from({ length: top / tick + 1 }, (_, place) => {
    const at = y(place * tick);
    return html`<path class="grid" d="M${left} ${at}H${width - margin.right}" />
      <text x="${left - characterWidth}" y="${at + 4}" class="end">${inThousands(place * tick)}</text>`;
  });
  const shapes = kind === "bars" ? barsOf(series, labels, sums, { x, y }) : series.map((one) => lineOf(one, { x, y }));
  return html`<svg viewBox="0 0 ${width} ${height}">${grid}${timeLabels}${shapes}</svg>`;
}

/** 1, 2 or 5 times a power of ten, so that there are few ticks. */
function tickFor(highest: number): number {
  for (let power = 1; ; power *= 10) {
    const tick = [1, 2, 5].map((factor) => factor * power).find((one) => highest / one <= ticksMax);
    if (tick !== undefined) return tick;
  }
}

/** Stacked from the bottom upwards, each with a tooltip. */
function barsOf(
  series: readonly TimeSeries[],
  labels: readonly string[],
  sums: readonly number[],
  { x, y }: Scale,
): Markup[] {
  return labels.flatMap((label, step) => {
    const width = rounded((x(step + 1) - x(step)) * 0.85);
    let below = 0;
    return series.flatMap(({ name, color, counts }) => {
      const count = counts[step] ?? 0;
      if (count === 0) return [];
      const at = y(below + count);
      const height = rounded(y(below) - at);
      below += count;
      const words = `${label}: ${inThousands(count)} ${shortened(name, nameLengthMax)} (of ${inThousands(sums[step] ?? 0)})`;
      return [
        html`<rect class="${color}" x="${x(step)}" y="${at}" width="${width}" height="${height}"
          ><title>${words}</title></rect
        >`,
      ];
    });
  });
}

function lineOf({ color, counts }: TimeSeries, { x, y }: Scale): Markup {
  const path = counts.map((count, step) => `V${y(count)}H${x(step + 1)}`).join("");
  return html`<path class="line ${color}" d="M${x(0)} ${y(counts[0] ?? 0)}${path}" />`;
}

function rounded(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}

/** A bar as long as the share of the count in the greatest one. */
export function shareBar(count: number, greatest: number): Markup {
  const percent = rounded((100 * count) / Math.max(1, greatest));
  return html`<svg class="share-bar" aria-hidden="true">
    <rect class="series-1" width="${percent}%" height="100%" />
  </svg>`;
}
