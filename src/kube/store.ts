// The objects of one kind as last seen, with secondary indexes, and their changes. Reads never wait and never see a partial change, because every
// change is one synchronous step. Returned lists are copies and do not change.
import { objectKey, type KubeObject } from "./kube-object.ts";

/** Maps an object to its index values. Pure; must not throw. */
export type IndexFunction<T> = (object: T) => readonly string[];

export interface ObjectView<T> {
  /** By `objectKey`. */
  get(key: string): T | undefined;
  list(): T[];
  /** The objects with this value in the named index. Throws a RangeError if there is no such index. */
  listBy(index: string, value: string): T[];
  /** The values that any object has in the named index. Throws a RangeError if there is no such index. */
  valuesOf(index: string): string[];
}

export interface ObjectStore<T extends KubeObject> extends ObjectView<T> {
  /** Returns the object that was stored under this key before. */
  put(object: T): T | undefined;
  remove(key: string): T | undefined;
  /** Replaces all contents in one step and returns the former ones, by key. */
  replaceAll(objects: ReadonlyMap<string, T>): ReadonlyMap<string, T>;
}

export function createObjectStore<T extends KubeObject>(
  indexFunctions: Readonly<Record<string, IndexFunction<T>>> = {},
): ObjectStore<T> {
  const functions = Object.entries(indexFunctions);
  let objects = new Map<string, T>();
  let indexes = indexesOf(objects);

  /** Of each index, the keys of objects by their values in it. */
  function indexesOf(contents: ReadonlyMap<string, T>): Map<string, Map<string, Set<string>>> {
    const built = new Map(functions.map(([name]) => [name, new Map<string, Set<string>>()]));
    for (const [key, object] of contents) {
      for (const [name, valuesOf] of functions)
        for (const value of valuesOf(object)) addKey(built.get(name), value, key);
    }
    return built;
  }

  function change(key: string, next: T | undefined): T | undefined {
    const former = objects.get(key);
    for (const [name, valuesOf] of functions) {
      const nextValues = next === undefined ? [] : valuesOf(next);
      for (const value of former === undefined ? [] : valuesOf(former)) removeKey(indexes.get(name), value, key);
      for (const value of nextValues) addKey(indexes.get(name), value, key);
    }
    if (next === undefined) objects.delete(key);
    else objects.set(key, next);
    return former;
  }

  function replaceAll(next: ReadonlyMap<string, T>): ReadonlyMap<string, T> {
    const rebuilt = indexesOf(next);
    const former = objects;
    objects = new Map(next);
    indexes = rebuilt;
    return former;
  }

  function indexOf(name: string): ReadonlyMap<string, ReadonlySet<string>> {
    const index = indexes.get(name);
    if (index === undefined) throw new RangeError(`There is no index named "${name}"`);
    return index;
  }

  return {
    get: (key) => objects.get(key),
    list: () => [...objects.values()],
    listBy: (name, value) => [...(indexOf(name).get(value) ?? [])].flatMap((key) => objects.get(key) ?? []),
    valuesOf: (name) => [...indexOf(name).keys()],
    put: (object) => change(objectKey(object.metadata), object),
    remove: (key) => change(key, undefined),
    replaceAll,
  };
}

type Index = Map<string, Set<string>> | undefined;

export function addKey(index: Index, value: string, key: string): void {
  const keys = index?.get(value);
  if (keys === undefined) index?.set(value, new Set([key]));
  else keys.add(key);
}

export function removeKey(index: Index, value: string, key: string): void {
  const keys = index?.get(value);
  keys?.delete(key);
  if (keys?.size === 0) index?.delete(value);
}

/** A change of an object; `old` is the previously stored object. For a deletion, `object` is the last known state. */
export type ObjectChange<T> =
  | { readonly type: "Added"; readonly object: T }
  | { readonly type: "Changed"; readonly object: T; readonly old: T }
  | { readonly type: "Deleted"; readonly object: T; readonly old: T };

/**
 * Applies the results of a list-watch to the store and announces the changes: the storing half of client-go's Reflector. A list
 * replaces the contents of the store in one step, and only then are the differences announced. Objects are the same only if their
 * UIDs are: an object that was deleted and created again under the same name is announced as deleted and as added.
 */
export class Reflector<T extends KubeObject> {
  readonly #store: ObjectStore<T>;
  readonly #announce: (change: ObjectChange<T>) => void;

  constructor(store: ObjectStore<T>, announce: (change: ObjectChange<T>) => void) {
    this.#store = store;
    this.#announce = announce;
  }

  /** @param announceAll whether objects that look unchanged are announced as well */
  replace(objects: readonly T[], announceAll: boolean): void {
    const next = new Map(objects.map((object) => [objectKey(object.metadata), object]));
    const former = this.#store.replaceAll(next);
    for (const [key, old] of former) if (!next.has(key)) this.#announce({ type: "Deleted", object: old, old });
    for (const [key, object] of next) this.#announcePut(former.get(key), object, announceAll);
  }

  put(object: T): void {
    this.#announcePut(this.#store.put(object), object, false);
  }

  remove(object: T): void {
    const old = this.#store.remove(objectKey(object.metadata));
    if (old === undefined) return;
    const isSame = old.metadata.uid === object.metadata.uid;
    this.#announce({ type: "Deleted", object: isSame ? object : old, old });
  }

  #announcePut(old: T | undefined, object: T, evenIfSame: boolean): void {
    if (old?.metadata.uid !== object.metadata.uid) {
      if (old !== undefined) this.#announce({ type: "Deleted", object: old, old });
      this.#announce({ type: "Added", object });
    } else if (evenIfSame || old.metadata.resourceVersion !== object.metadata.resourceVersion) {
      this.#announce({ type: "Changed", object, old });
    }
  }
}
