// Divides a period into bars of equal length, and counts rows in them.
import { dayMs, hourMs, minuteMs } from "../../model/time-text.ts";

const barsWanted = 72;
/** The first length with few enough bars is used. Lengths below an hour are only for periods below a day. */
const barLengths = [minuteMs, 5 * minuteMs, 15 * minuteMs, 30 * minuteMs, hourMs, 3 * hourMs, 6 * hourMs] as const;

/** In milliseconds since 1970; the end is exclusive. */
export interface Period {
  readonly startMs: number;
  readonly endMs: number;
}

export class TimeBars {
  /** The first bar starts at a multiple of its length, at or before the start of the period. */
  readonly startMs: number;
  readonly barMs: number;
  readonly length: number;

  constructor({ startMs, endMs }: Period) {
    const spanMs = endMs - startMs;
    const shortest = spanMs < dayMs ? 0 : hourMs;
    this.barMs = barLengths.find((barMs) => barMs >= shortest && spanMs / barMs <= barsWanted) ?? dayMs;
    this.startMs = Math.floor(startMs / this.barMs) * this.barMs;
    this.length = Math.max(1, Math.ceil((endMs - this.startMs) / this.barMs));
  }

  /** @param otherwiseMs the time to use if the first one is invalid or outside the period; it may be too early */
  barOf(timeMs: number, otherwiseMs: number): number {
    const bar = Math.floor((timeMs - this.startMs) / this.barMs);
    if (bar >= 0 && bar < this.length) return bar;
    return Math.max(0, Math.min(this.length - 1, Math.floor((otherwiseMs - this.startMs) / this.barMs)));
  }
}
