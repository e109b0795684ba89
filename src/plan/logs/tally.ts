// Which rows of one day were forwarded, and how often: what keeps a day that is read again from being forwarded twice. A multiset,
// since equal rows are different requests. At most 45 bytes a row and no texts.
import type { LogEntry } from "../../model/log-entry.ts";
import { RowCounts } from "./row-counts.ts";
import type { RowIdentity } from "./row-identity.ts";

/** Different rows of a day beyond these are forwarded without being remembered: 130 MiB are enough for one day. */
export const tallyRowsMax = 2 ** 22;

export interface LogTallyOptions {
  /** What was forwarded before. */
  readonly counts?: RowCounts;
  readonly rowsMax?: number;
}

export class LogTally {
  readonly identityOf: RowIdentity;
  readonly #rowsMax: number;
  readonly #forwarded: RowCounts;
  #isOverfull = false;

  constructor(identityOf: RowIdentity, { counts = new RowCounts(), rowsMax = tallyRowsMax }: LogTallyOptions = {}) {
    this.identityOf = identityOf;
    this.#forwarded = counts;
    this.#rowsMax = rowsMax;
  }

  /** Whether rows were forwarded that are not remembered: the day can't be read a second time then. */
  get isOverfull(): boolean {
    return this.#isOverfull;
  }

  /** Different rows that are remembered. */
  get size(): number {
    return this.#forwarded.size;
  }

  /** Every identity that was forwarded, smallest first; in slices. */
  identities(): Generator<undefined, Float64Array> {
    return this.#forwarded.identities();
  }

  /** How often the row with this identity was forwarded. */
  countOf(identity: number): number {
    return this.#forwarded.countOf(identity);
  }

  /** The day is read from its start again. */
  beginReading(): void {
    this.#forwarded.expectAll();
  }

  /** Rows that were forwarded before and have not come in this reading: at its end, the API confirms them no longer. */
  get unconfirmed(): number {
    return this.#forwarded.left;
  }

  /** The row with this identity came. @returns whether it is to be forwarded now, which counts as done. */
  take(identity: number): boolean {
    const forwarded = this.#forwarded;
    if (forwarded.takeExpected(identity)) return false;
    const before = forwarded.countOf(identity);
    if (before === 0 && forwarded.size >= this.#rowsMax) this.#isOverfull = true;
    else forwarded.setCount(identity, before + 1);
    return true;
  }

  /** A row that was taken could not be forwarded after all. */
  giveBack(entry: LogEntry): void {
    const identity = this.identityOf(entry);
    const before = this.#forwarded.countOf(identity);
    if (before > 0) this.#forwarded.setCount(identity, before - 1);
  }
}
