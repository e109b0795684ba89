// Counts how often each row was forwarded, and how often it is still expected: a hash table in typed arrays. A million rows take 32 MiB
// outside the heap, and a copy for the next reading takes a millisecond, whereas a Map blocks the event loop for most of a second.
// Identities of rows are random numbers, so their low bits serve as the hash.

const capacityMin = 16;
/** A fuller table is slow. */
const loadMax = 0.75;
/** Identities are below this. */
const identityEnd = 2 ** 52;
/** Rows that are sorted at a time, and slots that are scanned at a time: a few milliseconds. */
const bucketRows = 32_768;
const sliceSlots = 131_072;

function bucketOf(identity: number, count: number): number {
  return Math.floor((identity / identityEnd) * count);
}

export class RowCounts {
  /** Each identity plus one, because 0 is a free slot. */
  #keys = new Float64Array(capacityMin);
  #counts = new Uint32Array(capacityMin);
  #left = new Uint32Array(capacityMin);
  #slotsUsed = 0;
  #size = 0;

  /** The number of distinct rows that were forwarded. */
  get size(): number {
    return this.#size;
  }

  countOf(identity: number): number {
    return this.#counts[this.#slotOf(identity)] ?? 0;
  }

  setCount(identity: number, count: number): void {
    const slot = this.#usedSlotOf(identity);
    const before = this.#counts[slot] ?? 0;
    this.#counts[slot] = count;
    this.#size += Number(count > 0) - Number(before > 0);
  }

  /** Expects every row again. */
  expectAll(): void {
    this.#left.set(this.#counts);
  }

  /** The number of rows that are still expected. */
  get left(): number {
    return this.#left.reduce((sum, left) => sum + left, 0);
  }

  /** @returns whether the row was expected */
  takeExpected(identity: number): boolean {
    const slot = this.#slotOf(identity);
    const left = this.#left[slot] ?? 0;
    if (left > 0) this.#left[slot] = left - 1;
    return left > 0;
  }

  /** Smallest first. In slices: sorting a million rows at once blocks the event loop. */
  *identities(): Generator<undefined, Float64Array> {
    const identities = new Float64Array(this.#size);
    const ends = this.#bucketEnds();
    const starts = ends.map((_, bucket) => ends[bucket - 1] ?? 0);
    const next = starts.slice();
    yield undefined;
    for (let slot = 0; slot < this.#keys.length; slot += 1) {
      if (slot % sliceSlots === 0) yield undefined;
      if ((this.#counts[slot] ?? 0) === 0) continue;
      const identity = (this.#keys[slot] ?? 0) - 1;
      const bucket = bucketOf(identity, ends.length);
      const place = next[bucket] ?? 0;
      identities[place] = identity;
      next[bucket] = place + 1;
    }
    for (const [bucket, end] of ends.entries()) {
      identities.subarray(starts[bucket], end).sort();
      yield undefined;
    }
    return identities;
  }

  /** The end of each bucket if rows are ordered by bucket. */
  #bucketEnds(): Uint32Array {
    const ends = new Uint32Array(Math.ceil(this.#size / bucketRows));
    for (let slot = 0; slot < this.#keys.length; slot += 1) {
      if ((this.#counts[slot] ?? 0) === 0) continue;
      const bucket = bucketOf((this.#keys[slot] ?? 0) - 1, ends.length);
      ends[bucket] = (ends[bucket] ?? 0) + 1;
    }
    for (let bucket = 1; bucket < ends.length; bucket += 1) {
      ends[bucket] = (ends[bucket] ?? 0) + (ends[bucket - 1] ?? 0);
    }
    return ends;
  }

  #usedSlotOf(identity: number): number {
    const slot = this.#slotOf(identity);
    if (this.#keys[slot] !== 0) return slot;
    if (this.#slotsUsed + 1 > this.#keys.length * loadMax) {
      this.#grow();
      return this.#usedSlotOf(identity);
    }
    this.#keys[slot] = identity + 1;
    this.#slotsUsed += 1;
    return slot;
  }

  /** The slot of the identity, or the free slot for it. There is always a free slot. */
  #slotOf(identity: number): number {
    const keys = this.#keys;
    const mask = keys.length - 1;
    const key = identity + 1;
    let slot = (identity >>> 0) & mask;
    while (keys[slot] !== 0 && keys[slot] !== key) slot = (slot + 1) & mask;
    return slot;
  }

  #grow(): void {
    const [keys, counts, left] = [this.#keys, this.#counts, this.#left];
    this.#keys = new Float64Array(keys.length * 2);
    this.#counts = new Uint32Array(keys.length * 2);
    this.#left = new Uint32Array(keys.length * 2);
    this.#slotsUsed = 0;
    for (const [from, key] of keys.entries()) {
      // Rows that were given back are dropped.
      if ((counts[from] ?? 0) === 0 && (left[from] ?? 0) === 0) continue;
      const to = this.#slotOf(key - 1);
      this.#keys[to] = key;
      this.#counts[to] = counts[from] ?? 0;
      this.#left[to] = left[from] ?? 0;
      this.#slotsUsed += 1;
    }
  }
}
