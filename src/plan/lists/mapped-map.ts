// A read-only map whose values are computed on demand: storing the positions of 100,000 entries in their sources would take more
// memory and time than storing the entries, and hardly any position is ever read.

export class MappedMap<K, Stored, V> implements ReadonlyMap<K, V> {
  readonly #stored: ReadonlyMap<K, Stored>;
  readonly #valueOf: (stored: Stored, key: K) => V;

  /** @param valueOf must always return the same value */
  constructor(stored: ReadonlyMap<K, Stored>, valueOf: (stored: Stored, key: K) => V) {
    this.#stored = stored;
    this.#valueOf = valueOf;
  }

  get size(): number {
    return this.#stored.size;
  }

  has(key: K): boolean {
    return this.#stored.has(key);
  }

  get(key: K): V | undefined {
    const stored = this.#stored.get(key);
    return stored === undefined ? undefined : this.#valueOf(stored, key);
  }

  keys(): MapIterator<K> {
    return this.#stored.keys();
  }

  *values(): MapIterator<V> {
    for (const [key, stored] of this.#stored) yield this.#valueOf(stored, key);
  }

  *entries(): MapIterator<[K, V]> {
    for (const [key, stored] of this.#stored) yield [key, this.#valueOf(stored, key)];
  }

  [Symbol.iterator](): MapIterator<[K, V]> {
    return this.entries();
  }

  forEach(act: (value: V, key: K, map: ReadonlyMap<K, V>) => void): void {
    for (const [key, stored] of this.#stored) act(this.#valueOf(stored, key), key, this);
  }
}
