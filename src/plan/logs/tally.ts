// Which rows of one day were handed on, and how often: what keeps a day that is read again from being handed on twice. A multiset,
// since equal rows are different requests. About 50 bytes a row and no texts, twice that while the day is read again.
import type { LogEntry } from "../../model/log-entry.ts";
import type { RowIdentity } from "./row-identity.ts";

/** Different rows of a day beyond these are handed on without being remembered: 200 MB are enough for one day. */
export const tallyRowsMax = 2 ** 22;

export interface LogTallyOptions {
  /** What `counts` gave. */
  readonly counts?: ReadonlyMap<number, number>;
  readonly rowsMax?: number;
}

export class LogTally {
  readonly identityOf: RowIdentity;
  readonly #rowsMax: number;
  readonly #handedOn: Map<number, number>;
  /** How often each row that was handed on in an earlier reading has still to come in this one. */
  #left = new Map<number, number>();
  #isOverfull = false;

  constructor(identityOf: RowIdentity, { counts = new Map(), rowsMax = tallyRowsMax }: LogTallyOptions = {}) {
    this.identityOf = identityOf;
    this.#handedOn = new Map(counts);
    this.#rowsMax = rowsMax;
  }

  /** Whether rows were handed on that are not remembered: the day can't be read a second time then. */
  get isOverfull(): boolean {
    return this.#isOverfull;
  }

  /** Every identity that was handed on, and how often. */
  get counts(): ReadonlyMap<number, number> {
    return this.#handedOn;
  }

  /** Different rows that are remembered. */
  get size(): number {
    return this.#handedOn.size;
  }

  /** The day is read from its start again. */
  beginReading(): void {
    this.#left = new Map(this.#handedOn);
  }

  /** The row with this identity came. @returns whether it is to be handed on now, which counts as done. */
  take(identity: number): boolean {
    const left = this.#left.get(identity);
    if (left !== undefined) {
      setOrDelete(this.#left, identity, left - 1);
      return false;
    }
    const before = this.#handedOn.get(identity);
    if (before === undefined && this.#handedOn.size >= this.#rowsMax) this.#isOverfull = true;
    else this.#handedOn.set(identity, (before ?? 0) + 1);
    return true;
  }

  /** A row that was taken could not be handed on after all. */
  giveBack(entry: LogEntry): void {
    const identity = this.identityOf(entry);
    const handedOn = this.#handedOn.get(identity);
    if (handedOn !== undefined) setOrDelete(this.#handedOn, identity, handedOn - 1);
  }
}

function setOrDelete(counts: Map<number, number>, identity: number, count: number): void {
  if (count > 0) counts.set(identity, count);
  else counts.delete(identity);
}
