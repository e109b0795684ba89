// The read position of a polling log follower: days before `nextDay` were read at least once. For the latest of them, the forwarded
// rows are known, so rows that arrive late are forwarded and the others are not forwarded twice.
// Days are whole numbers, counted from 1970.
import { finished } from "../../model/finished.ts";
import type { LogEntry } from "../../model/log-entry.ts";
import { decodeTally, encodeTally } from "./tally-codec.ts";
import { LogTally } from "./tally.ts";
import { createRowIdentity } from "./row-identity.ts";
import type { IdentitySeed, RowIdentity } from "./row-identity.ts";

/** The state of one day. */
export interface DayMark {
  readonly tally: LogTally;
  /** `total.value` when the day was last read completely: as long as it is the same, there are no new rows. */
  readonly total: number | undefined;
}

/** A cursor as JSON. Version 1 identified rows differently, so its rows can't be used. */
export interface SavedLogCursor {
  readonly version: 2;
  readonly seed: IdentitySeed;
  readonly firstDay: number;
  readonly nextDay: number;
  /** `handedOn` is a tally in base64. */
  readonly days: readonly { readonly day: number; readonly total?: number; readonly handedOn: string }[];
}

export interface DayRange {
  readonly firstDay: number;
  /** Included. */
  readonly lastDay: number;
}

export class LogCursor {
  readonly #seed: IdentitySeed;
  readonly #identityOf: RowIdentity;
  readonly #marks = new Map<number, DayMark>();
  #firstDay: number;
  #nextDay: number;

  /** Nothing was read yet; nothing before `firstDay` will be read. */
  constructor(firstDay: number, seed: IdentitySeed, nextDay = firstDay) {
    this.#firstDay = firstDay;
    this.#nextDay = nextDay;
    this.#seed = seed;
    this.#identityOf = createRowIdentity(seed);
  }

  /** The first day that was not read completely. */
  get nextDay(): number {
    return this.#nextDay;
  }

  /**
   * The days to read now: new days, missed days, and days for which rows may still arrive. A day with known rows was
   * among the latter when it was last read, so it is read once more, no matter how long ago that was.
   */
  daysToRead(today: number, lookbackDays: number): DayRange {
    const open = Math.min(this.#nextDay, today - lookbackDays, ...this.#marks.keys());
    return { firstDay: Math.max(this.#firstDay, open), lastDay: today };
  }

  /** The number of distinct rows that are known across all days. */
  get rowsKept(): number {
    let rows = 0;
    for (const { tally } of this.#marks.values()) rows += tally.size;
    return rows;
  }

  markOf(day: number): DayMark {
    const mark = this.#marks.get(day) ?? { tally: new LogTally(this.#identityOf), total: undefined };
    this.#marks.set(day, mark);
    return mark;
  }

  /** Marks the day as read completely. */
  dayDone(day: number, total: number): void {
    this.#marks.set(day, { tally: this.markOf(day).tally, total });
    this.#nextDay = Math.max(this.#nextDay, day + 1);
  }

  /** Drops the days before this one, which will not be read again. */
  forgetBefore(day: number): void {
    for (const known of this.#marks.keys()) if (known < Math.min(day, this.#nextDay)) this.#marks.delete(known);
  }

  /** Rows that were taken but not forwarded: they will be read again. */
  giveBack(day: number, entries: readonly LogEntry[]): void {
    const { tally } = this.markOf(day);
    for (const entry of entries) tally.giveBack(entry);
    this.#marks.set(day, { tally, total: undefined });
  }

  /**
   * Closes the oldest day that still accepts late rows, to save memory. Never closes the latest
   * day, or a day that was not read completely. @returns the day; undefined if there is none
   */
  closeOldest(): number | undefined {
    const days = [...this.#marks.keys()].sort((a, b) => a - b);
    const [oldest] = days;
    if (oldest === undefined || days.length < 2 || oldest >= this.#nextDay) return undefined;
    this.#marks.delete(oldest);
    this.#firstDay = Math.max(this.#firstDay, oldest + 1);
    return oldest;
  }

  /** Closes this day, which has too many rows to keep, and all days before it: the next day is the first one that is read. */
  closeThrough(day: number): void {
    for (const known of this.#marks.keys()) if (known <= day) this.#marks.delete(known);
    this.#firstDay = Math.max(this.#firstDay, day + 1);
    this.#nextDay = Math.max(this.#nextDay, day + 1);
  }

  /** Restores one day of a saved cursor. @returns whether it was valid */
  restoreMark(day: number, total: number | undefined, handedOn: string): boolean {
    const tally = decodeTally(Buffer.from(handedOn, "base64"), this.#identityOf);
    if (tally !== undefined) this.#marks.set(day, { tally, total });
    return tally !== undefined;
  }

  save(): SavedLogCursor {
    return finished(this.saveInSlices());
  }

  /** The cursor must not be changed before the last slice. */
  *saveInSlices(): Generator<undefined, SavedLogCursor> {
    const days: SavedLogCursor["days"][number][] = [];
    for (const [day, { tally, total }] of this.#marks) {
      const handedOn = Buffer.from(yield* encodeTally(tally)).toString("base64");
      days.push({ day, ...(total !== undefined && { total }), handedOn });
    }
    return { version: 2, seed: this.#seed, firstDay: this.#firstDay, nextDay: this.#nextDay, days };
  }
}

/** Restores a saved cursor; undefined if it is missing or invalid. */
export function loadLogCursor(saved: unknown): LogCursor | undefined {
  if (!isSavedCursor(saved)) return undefined;
  const cursor = new LogCursor(saved.firstDay, saved.seed, saved.nextDay);
  for (const { day, total, handedOn } of saved.days) {
    if (!cursor.restoreMark(day, total, handedOn)) return undefined;
  }
  return cursor;
}

function isSavedCursor(value: unknown): value is SavedLogCursor {
  if (typeof value !== "object" || value === null) return false;
  const { version, seed, firstDay, nextDay, days } = value as Partial<Record<keyof SavedLogCursor, unknown>>;
  const isSeed = (one: unknown): boolean =>
    typeof one === "object" && one !== null && "low" in one && "high" in one && isWhole(one.low) && isWhole(one.high);
  return (
    version === 2 && isSeed(seed) && isWhole(firstDay) && isWhole(nextDay) && Array.isArray(days) && days.every(isMark)
  );
}

function isMark(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { day, total, handedOn } = value as { day?: unknown; total?: unknown; handedOn?: unknown };
  return isWhole(day) && (total === undefined || isWhole(total)) && typeof handedOn === "string";
}

function isWhole(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
