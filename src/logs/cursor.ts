// The read position of a polling log follower: days before `nextDay` were read at least once. For the latest of them, the forwarded
// rows are known, so rows that arrive late are forwarded and the others are not forwarded twice. The latest days with rows stay
// known whatever the clock says, so that a clock that was ahead for a while neither repeats nor loses a row.
// Days are whole numbers, counted from 1970.
import { type LogEntry, logTimeMs } from "../model/log-entry.ts";
import { dayMs } from "../model/texts.ts";
import type { SavedLogCursor } from "./log-records.ts";
import {
  createRowIdentity,
  decodeTally,
  encodeTally,
  type IdentitySeed,
  type RowIdentity,
  type RowTally,
} from "./row-tally.ts";

/** The state of one day. */
export interface DayMark {
  readonly forwarded: RowTally;
  /** The rows that WafAutoBlocks have judged, by the identity of requests. */
  readonly judged: RowTally;
  /** `total.value` when the day was last read completely: as long as it is the same, there are no new rows. */
  readonly total: number | undefined;
}

export interface DayRange {
  readonly firstDay: number;
  /** Included. */
  readonly lastDay: number;
}

export class LogCursor {
  readonly seed: IdentitySeed;
  readonly identityOf: RowIdentity;
  readonly #marks = new Map<number, DayMark>();
  /** Nothing before this day is read: older days are closed. */
  #firstDay: number;
  #nextDay: number;
  /** The latest day with rows, by their times: the API may return rows of other days. 0 if there was none. */
  #newestDay = 0;

  /** Nothing was read yet; nothing before `firstDay` will be read. */
  constructor(firstDay: number, seed: IdentitySeed, nextDay = firstDay) {
    this.#firstDay = firstDay;
    this.#nextDay = nextDay;
    this.seed = seed;
    this.identityOf = createRowIdentity(seed);
  }

  /** The first day that was not read completely. */
  get nextDay(): number {
    return this.#nextDay;
  }

  /** Whether this day was closed because it had too many rows. Only such a day makes reading begin after all days with rows. */
  isClosed(day: number): boolean {
    return day <= this.#newestDay && this.#newestDay < this.#firstDay;
  }

  /**
   * The days to read now: new days, missed days, and days for which rows may still arrive. A day that was among the latter
   * when it was last read is read once more, no matter how long ago that was.
   */
  daysToRead(today: number, lookbackDays: number): DayRange {
    if (this.#nextDay > today + 1) this.#goBack(today, lookbackDays);
    const first = Math.min(this.#nextDay - 1, today) - lookbackDays;
    return { firstDay: Math.max(this.#firstDay, first), lastDay: today };
  }

  /** The clock was ahead at an earlier read: the days after the latest one with rows were read too early. */
  #goBack(today: number, lookbackDays: number): void {
    if (this.#newestDay === 0) this.#firstDay = today - lookbackDays;
    this.#nextDay = Math.max(this.#firstDay, this.#newestDay + 1);
  }

  /** The number of distinct rows that are known across all days. */
  get rowsKept(): number {
    let rows = 0;
    for (const { forwarded } of this.#marks.values()) rows += forwarded.size;
    return rows;
  }

  markOf(day: number): DayMark {
    const mark = this.#marks.get(day) ?? { forwarded: new Map(), judged: new Map(), total: undefined };
    this.#marks.set(day, mark);
    return mark;
  }

  /** Notes the rows that were read for a day. */
  noteRows(day: number, entries: readonly LogEntry[]): void {
    for (const { timestamp } of entries) {
      const own = Math.floor(logTimeMs(timestamp) / dayMs);
      if (own > this.#newestDay && own >= this.#firstDay && own <= day) this.#newestDay = own;
    }
  }

  /** Marks the day as read completely. @param total undefined if it must be read again even without new rows */
  dayDone(day: number, total: number | undefined): void {
    this.#marks.set(day, { ...this.markOf(day), total });
    this.#nextDay = Math.max(this.#nextDay, day + 1);
  }

  /** Drops the days that will not be read again. */
  forget(today: number, lookbackDays: number): void {
    const first = (this.#newestDay === 0 ? today : this.#newestDay) - lookbackDays;
    for (const [day, { forwarded }] of this.#marks) {
      if (day < first || (forwarded.size === 0 && day < today - lookbackDays)) this.#marks.delete(day);
    }
    this.#firstDay = Math.max(this.#firstDay, first);
  }

  /** Rows that were taken but not forwarded: they will be read again. */
  giveBack(day: number, entries: readonly LogEntry[]): void {
    const mark = this.markOf(day);
    const { forwarded } = mark;
    for (const entry of entries) {
      const identity = this.identityOf(entry);
      const count = forwarded.get(identity) ?? 0;
      if (count > 1) forwarded.set(identity, count - 1);
      else forwarded.delete(identity);
    }
    this.#marks.set(day, { ...mark, total: undefined });
  }

  /**
   * Closes the oldest day that still accepts late rows, to save memory. Never closes the latest
   * day, or a day that was not read completely. @returns the day; undefined if there is none
   */
  closeOldest(): number | undefined {
    const days = [...this.#marks.keys()].sort((a, b) => a - b);
    const [oldest] = days;
    if (oldest === undefined || days.length < 2 || oldest >= this.#nextDay) return undefined;
    this.closeThrough(oldest);
    return oldest;
  }

  /** Closes this day, which has too many rows to keep, and all days before it: the next day is the first one that is read. */
  closeThrough(day: number): void {
    for (const known of this.#marks.keys()) if (known <= day) this.#marks.delete(known);
    this.#newestDay = Math.max(this.#newestDay, day);
    this.#firstDay = Math.max(this.#firstDay, day + 1);
    this.#nextDay = Math.max(this.#nextDay, day + 1);
  }

  save(): SavedLogCursor {
    const days = [...this.#marks].map(([day, { forwarded, judged, total }]) => {
      const tallies = { forwarded: encodeTally(forwarded), judged: encodeTally(judged) };
      return { day, ...(total !== undefined && { total }), ...tallies };
    });
    return { seed: this.seed, firstDay: this.#firstDay, nextDay: this.#nextDay, newestDay: this.#newestDay, days };
  }

  /** Restores a saved cursor; undefined if its tallies are invalid. */
  static load(saved: SavedLogCursor): LogCursor | undefined {
    const cursor = new LogCursor(saved.firstDay, saved.seed, saved.nextDay);
    cursor.#newestDay = saved.newestDay;
    for (const { day, total, ...texts } of saved.days) {
      const [forwarded, judged] = [decodeTally(texts.forwarded), decodeTally(texts.judged)];
      if (forwarded === undefined || judged === undefined) return undefined;
      cursor.#marks.set(day, { forwarded, judged, total });
    }
    return cursor;
  }
}
