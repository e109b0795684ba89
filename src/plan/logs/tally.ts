// Which rows of one day were handed on, and how often: what keeps a day that is read again from being handed on twice. A multiset,
// since equal rows are different requests. 16 bytes a row, no texts; serialized about five.
import type { LogEntry } from "../../model/log-entry.ts";
import type { RowIdentity } from "./row-identity.ts";

/** A day with more rows can't be followed: 512 MiB would be needed. */
export const tallyRowsMax = 2 ** 24;
const slotsMin = 1024;

/** How much of the table may be full. */
const loadMax = 0.6;
const empty = -1;

export class LogTally {
  readonly #identityOf: RowIdentity;
  #identities: Float64Array = new Float64Array(slotsMin).fill(empty);
  #handedOn: Uint32Array = new Uint32Array(slotsMin);
  /** How often each came in this reading of the day. */
  #seen: Uint32Array = new Uint32Array(slotsMin);
  #distinct = 0;
  #rows = 0;

  constructor(identityOf: RowIdentity) {
    this.#identityOf = identityOf;
  }

  /** How many rows were handed on. */
  get rows(): number {
    return this.#rows;
  }

  get isFull(): boolean {
    return this.#distinct >= tallyRowsMax;
  }

  /** Makes room for so many rows at once, which is quicker than growing again and again. */
  reserve(rows: number): void {
    const slots = Math.min(rows, tallyRowsMax) / loadMax;
    let size = this.#identities.length;
    while (size < slots) size *= 2;
    if (size > this.#identities.length) this.#resize(size);
  }

  /** The day is read from its start again. */
  beginReading(): void {
    this.#seen.fill(0);
  }

  /** One row came. @returns whether it is to be handed on now, which counts as done. */
  take(entry: LogEntry): boolean {
    return this.takeIdentity(this.#identityOf(entry));
  }

  identityOf(entry: LogEntry): number {
    return this.#identityOf(entry);
  }

  /** `take`, for who has the identity of the row already. */
  takeIdentity(identity: number): boolean {
    const slot = this.#slotOf(identity);
    const seen = (this.#seen[slot] ?? 0) + 1;
    this.#seen[slot] = seen;
    if (seen <= (this.#handedOn[slot] ?? 0)) return false;
    this.#handedOn[slot] = seen;
    this.#rows += 1;
    return true;
  }

  /** A row that was taken could not be handed on after all. */
  giveBack(entry: LogEntry): void {
    const slot = this.#slotOf(this.#identityOf(entry));
    const handedOn = this.#handedOn[slot] ?? 0;
    if (handedOn === 0) return;
    this.#handedOn[slot] = handedOn - 1;
    this.#rows -= 1;
  }

  /** Every identity that was handed on, in rising order, and how often. */
  counts(): readonly (readonly [identity: number, count: number])[] {
    // Sorted as plain numbers: with pairs, a day of a million rows would hold up everything else for seconds.
    const identities = this.#identities.filter((_, slot) => (this.#handedOn[slot] ?? 0) > 0).sort();
    return Array.from(identities, (identity) => {
      return [identity, this.#handedOn[findSlot(this.#identities, identity)] ?? 0] as const;
    });
  }

  /** What `counts` gave, into an empty tally. */
  restore(identity: number, count: number): void {
    const slot = this.#slotOf(identity);
    this.#rows += count - (this.#handedOn[slot] ?? 0);
    this.#handedOn[slot] = count;
  }

  #slotOf(identity: number): number {
    const slot = findSlot(this.#identities, identity);
    if (this.#identities[slot] === identity) return slot;
    if (this.#distinct >= this.#identities.length * loadMax) {
      this.#resize(this.#identities.length * 2);
      return this.#slotOf(identity);
    }
    this.#identities[slot] = identity;
    this.#distinct += 1;
    return slot;
  }

  #resize(size: number): void {
    const before = { identities: this.#identities, handedOn: this.#handedOn, seen: this.#seen };
    this.#identities = new Float64Array(size).fill(empty);
    this.#handedOn = new Uint32Array(size);
    this.#seen = new Uint32Array(size);
    // By index: an iterator over a hundred thousand slots takes longer than all the rest.
    for (let old = 0; old < before.identities.length; old += 1) {
      const identity = before.identities[old] ?? empty;
      if (identity === empty) continue;
      const slot = findSlot(this.#identities, identity);
      this.#identities[slot] = identity;
      this.#handedOn[slot] = before.handedOn[old] ?? 0;
      this.#seen[slot] = before.seen[old] ?? 0;
    }
  }
}

/** Where the identity is, or would be put. The table is never full, so the walk ends. */
function findSlot(identities: Float64Array, identity: number): number {
  const mask = identities.length - 1;
  let slot = (identity % 2 ** 31) & mask;
  while (identities[slot] !== identity && identities[slot] !== empty) slot = (slot + 1) & mask;
  return slot;
}
