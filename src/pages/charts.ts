// Draws stacked bars over time as SVG. Colors are classes of the style sheet, so that one drawing fits light and dark mode. Positions
// across the drawing are shares of its width, so that it also fits wide and narrow screens.
import { inThousands, shortened } from "../model/sentence.ts";
import { dayMs } from "../model/time-text.ts";
import { type Markup, html } from "./html.ts";

/** In characters. */
const nameLengthMax = 100;
/** In pixels. The style sheet leaves space for the labels to the left of the drawing. */
const height = 280;
const margin = { top: 12, bottom: 26 } as const;
const plotHeight = height - margin.top - margin.bottom;
/** `1.5K`, so that every label fits. */
const shortNumber = new Intl.NumberFormat("en", { notation: "compact" });
const ticksMax = 5;
/** As many labels as fit into a narrow screen. */
const timeLabelsMax = 3;

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

/** A drawing, and its legend with the sum of each series. @param label says what the chart shows, and its main result */
export function timeChart(label: string, { startMs, stepMs, series }: OverTime): Markup {
  const sums = sumsOf(series);
  const labels = sums.map((_, step) => stepLabel(startMs + step * stepMs, stepMs));
  const highest = Math.max(1, ...sums);
  const tick = tickFor(highest);
  const top = Math.ceil(highest / tick) * tick;
  const x = (step: number): string => `${Math.round((10_000 * step) / sums.length) / 100}%`;
  const y = (count: number): number => rounded(height - margin.bottom - (count / top) * plotHeight);
  const every = Math.ceil(sums.length / timeLabelsMax);
  const timeLabels = labels.flatMap((text, step) =>
    step % every === 0 && step + every <= sums.length
      ? [html`<text x="${x(step)}" y="${height - 6}">${text}</text>`]
      : [],
  );
  const grid = Array.from({ length: top / tick + 1 }, (_, place) => {
    const at = y(place * tick);
    return html`<line class="grid" x2="100%" y1="${at}" y2="${at}" />
      <text x="-8" y="${at + 4}" class="end">${shortNumber.format(place * tick)}</text>`;
  });
  const bars = labels.flatMap((text, step) => {
    let below = 0;
    return series.flatMap(({ name, color, counts }) => {
      const count = counts[step] ?? 0;
      if (count === 0) return [];
      const at = y(below + count);
      const barHeight = rounded(y(below) - at);
      below += count;
      const words = `${text}: ${inThousands(count)} ${shortened(name, nameLengthMax)} (of ${inThousands(sums[step] ?? 0)})`;
      return [
        html`<rect class="${color}" x="${x(step)}" y="${at}" width="${x(0.85)}" height="${barHeight}"
          ><title>${words}</title></rect
        >`,
      ];
    });
  });
  const legend = series.map(({ name, color, counts }) => {
    const total = inThousands(counts.reduce((sum, count) => sum + count, 0));
    return html`<li><i class="${color}"></i>${shortened(name, nameLengthMax)} (${total})</li>`;
  });
  return html`<figure>
      <svg role="img" aria-label="${label}" height="${height}">${grid}${timeLabels}${bars}</svg>
    </figure>
    <ul class="legend">
      ${legend}
    </ul>`;
}

/** The sum of all series in each step. */
export function sumsOf(series: readonly Pick<TimeSeries, "counts">[]): readonly number[] {
  const steps = series[0]?.counts.length ?? 0;
  return Array.from({ length: steps }, (_, step) => series.reduce((sum, { counts }) => sum + (counts[step] ?? 0), 0));
}

/** `11-21 15:00`, or `11-21` for a step of a day. */
export function stepLabel(timeMs: number, stepMs: number): string {
  const length = stepMs >= dayMs ? 10 : 16;
  return new Date(timeMs).toISOString().slice(5, length).replace("T", " ");
}

/** 1, 2 or 5 times a power of ten, so that there are few ticks. */
function tickFor(highest: number): number {
  for (let power = 1; ; power *= 10) {
    const tick = [1, 2, 5].map((factor) => factor * power).find((one) => highest / one <= ticksMax);
    if (tick !== undefined) return tick;
  }
}

function rounded(number: number): number {
  return Math.round(number * 10) / 10;
}
