// Records which rows of one day were forwarded, and how often, so that reading a day again forwards no row twice. A multiset,
// since equal rows are different requests. Takes at most 45 bytes per row and stores no strings.
import type { LogEntry } from "../../model/log-entry.ts";
import { RowCounts } from "./row-counts.ts";
import type { RowIdentity } from "./row-identity.ts";

/** Further distinct rows of a day are forwarded without being recorded: 130 MiB are enough for one day. */
export const tallyRowsMax = 2 ** 22;

export interface LogTallyOptions {
  /** The rows that were forwarded before. */
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

  /** Whether rows were forwarded without being recorded: then the day can't be read a second time. */
  get isOverfull(): boolean {
    return this.#isOverfull;
  }

  /** The number of recorded distinct rows. */
  get size(): number {
    return this.#forwarded.size;
  }

  /** All recorded identities, in ascending order; in slices. */
  identities(): Generator<undefined, Float64Array> {
    return this.#forwarded.identities();
  }

  /** How often the row with this identity was forwarded. */
  countOf(identity: number): number {
    return this.#forwarded.countOf(identity);
  }

  /** Starts to read the day again. */
  beginReading(): void {
    this.#forwarded.expectAll();
  }

  /** The number of forwarded rows that this reading has not contained so far: at its end, the API no longer confirms them. */
  get unconfirmed(): number {
    return this.#forwarded.left;
  }

  /** Counts a row with this identity in the reading. @returns whether to forward it; it then counts as forwarded. */
  take(identity: number): boolean {
    const forwarded = this.#forwarded;
    if (forwarded.takeExpected(identity)) return false;
    const before = forwarded.countOf(identity);
    if (before === 0 && forwarded.size >= this.#rowsMax) this.#isOverfull = true;
    else forwarded.setCount(identity, before + 1);
    return true;
  }

  /** Takes back a row that could not be forwarded. */
  giveBack(entry: LogEntry): void {
    const identity = this.identityOf(entry);
    const before = this.#forwarded.countOf(identity);
    if (before > 0) this.#forwarded.setCount(identity, before - 1);
  }
}
