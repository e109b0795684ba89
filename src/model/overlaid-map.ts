// A large map with a few changes, without copying the whole map: planning a change of ten entries in 100,000 must not take as long as
// planning all of them. Results for the base map are adjusted only for the changed keys.

/** Smaller maps are copied. */
const sizeMin = 256;
/** If more than this share of the base map changes, everything is copied, because look-ups would become slower. */
const shareMax = 1 / 8;

export type Changes<K, V> = ReadonlyMap<K, V | undefined>;

/** The map with the changes: each is a new value, or undefined for a removal. Neither argument may change afterwards. */
export function withChanges<K, V>(map: ReadonlyMap<K, V>, changes: Changes<K, V>): ReadonlyMap<K, V> {
  if (changes.size === 0) return map;
  if (map.size === 0 && isComplete(changes)) return changes;
  const { base, changes: before } = layersOf(map);
  const all = before.size === 0 ? changes : new Map([...before, ...changes]);
  if (base.size >= sizeMin && all.size <= base.size * shareMax) return new OverlaidMap(base, all);
  const copy = new Map(map);
  for (const [key, value] of changes) {
    if (value === undefined) copy.delete(key);
    else copy.set(key, value);
  }
  return copy;
}

function isComplete<K, V>(changes: Changes<K, V>): changes is ReadonlyMap<K, V> {
  for (const value of changes.values()) if (value === undefined) return false;
  return true;
}

export interface Layers<K, V> {
  readonly base: ReadonlyMap<K, V>;
  readonly changes: Changes<K, V>;
}

/** The base map and the changes; for any other map, the map itself and no changes. */
export function layersOf<K, V>(map: ReadonlyMap<K, V>): Layers<K, V> {
  return map instanceof OverlaidMap ? (map as OverlaidMap<K, V>) : { base: map, changes: new Map() };
}

/** All keys that may differ between the two maps: few if both have the same base map. */
export function keysToCompare<K, V>(a: ReadonlyMap<K, V>, b: ReadonlyMap<K, V>): Iterable<K> {
  const [one, other] = [layersOf(a), layersOf(b)];
  if (one.base === other.base) return new Set([...one.changes.keys(), ...other.changes.keys()]);
  return new Set([...a.keys(), ...b.keys()]);
}

class OverlaidMap<K, V> implements ReadonlyMap<K, V>, Layers<K, V> {
  readonly base: ReadonlyMap<K, V>;
  readonly changes: Changes<K, V>;
  readonly size: number;

  constructor(base: ReadonlyMap<K, V>, changes: Changes<K, V>) {
    this.base = base;
    this.changes = changes;
    let { size } = base;
    for (const [key, value] of changes) size += Number(value !== undefined) - Number(base.has(key));
    this.size = size;
  }

  has(key: K): boolean {
    return this.get(key) !== undefined;
  }

  get(key: K): V | undefined {
    return this.changes.has(key) ? this.changes.get(key) : this.base.get(key);
  }

  /** In the order of a map that was modified: new keys come last. */
  *entries(): MapIterator<[K, V]> {
    for (const [key, value] of this.base) {
      const now = this.changes.has(key) ? this.changes.get(key) : value;
      if (now !== undefined) yield [key, now];
    }
    for (const [key, value] of this.changes) if (value !== undefined && !this.base.has(key)) yield [key, value];
  }

  *keys(): MapIterator<K> {
    for (const key of this.base.keys()) if (!this.changes.has(key) || this.changes.get(key) !== undefined) yield key;
    for (const [key, value] of this.changes) if (value !== undefined && !this.base.has(key)) yield key;
  }

  *values(): MapIterator<V> {
    for (const [, value] of this.entries()) yield value;
  }

  [Symbol.iterator](): MapIterator<[K, V]> {
    return this.entries();
  }

  forEach(act: (value: V, key: K, map: ReadonlyMap<K, V>) => void): void {
    for (const [key, value] of this.entries()) act(value, key, this);
  }
}
