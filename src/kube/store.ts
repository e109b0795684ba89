// The objects of one kind as last seen, with secondary indexes, and their changes. Reads never wait and never see a partial change, because every
// change is one synchronous step. Returned lists are copies and do not change.
import { objectKey, type KubeObject } from "./kube-object.ts";

/** Maps an object to its index values. Pure; must not throw. */
export type IndexFunction<T> = (object: T) => readonly string[];

export interface ObjectView<T> {
  readonly size: number;
  /** Increases with every change of any object: equal versions mean equal contents. */
  readonly version: number;
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
  /** Replaces all contents in one version and returns the former ones, by key. */
  replaceAll(objects: ReadonlyMap<string, T>): ReadonlyMap<string, T>;
}

export function createObjectStore<T extends KubeObject>(
  indexFunctions: Readonly<Record<string, IndexFunction<T>>> = {},
): ObjectStore<T> {
  const indexes = new Map(Object.entries(indexFunctions).map(([name, valuesOf]) => [name, createIndex(valuesOf)]));
  let objects = new Map<string, T>();
  let version = 0;

  function change(key: string, next: T | undefined): T | undefined {
    const former = objects.get(key);
    const updates = [...indexes.values()].map((index) => index.prepare(key, former, next));
    if (next === undefined) objects.delete(key);
    else objects.set(key, next);
    for (const update of updates) update();
    if (former !== undefined || next !== undefined) version += 1;
    return former;
  }

  function replaceAll(next: ReadonlyMap<string, T>): ReadonlyMap<string, T> {
    const former = objects;
    const updates = [...indexes.values()].map((index) => index.prepareAll(next));
    objects = new Map(next);
    for (const update of updates) update();
    version += 1;
    return former;
  }

  function indexOf(name: string): Index<T> {
    const index = indexes.get(name);
    if (index === undefined) throw new RangeError(`There is no index named "${name}"`);
    return index;
  }

  return {
    get size() {
      return objects.size;
    },
    get version() {
      return version;
    },
    get: (key) => objects.get(key),
    list: () => [...objects.values()],
    listBy: (name, value) =>
      indexOf(name)
        .keysOf(value)
        .flatMap((key) => objects.get(key) ?? []),
    valuesOf: (name) => indexOf(name).values(),
    put: (object) => change(objectKey(object.metadata), object),
    remove: (key) => change(key, undefined),
    replaceAll,
  };
}

/** A prepared update cannot fail: an index function that throws does so before anything changes. */
interface Index<T> {
  keysOf(value: string): string[];
  values(): string[];
  prepare(key: string, former: T | undefined, next: T | undefined): () => void;
  prepareAll(objects: ReadonlyMap<string, T>): () => void;
}

function createIndex<T>(valuesOf: IndexFunction<T>): Index<T> {
  let keysByValue = new Map<string, Set<string>>();

  return {
    keysOf: (value) => [...(keysByValue.get(value) ?? [])],
    values: () => [...keysByValue.keys()],
    prepare(key, former, next) {
      const formerValues = former === undefined ? [] : valuesOf(former);
      const nextValues = next === undefined ? [] : valuesOf(next);
      return () => {
        for (const value of formerValues) removeKey(keysByValue, value, key);
        for (const value of nextValues) addKey(keysByValue, value, key);
      };
    },
    prepareAll(objects) {
      const rebuilt = new Map<string, Set<string>>();
      for (const [key, object] of objects) {
        for (const value of valuesOf(object)) addKey(rebuilt, value, key);
      }
      return () => {
        keysByValue = rebuilt;
      };
    },
  };
}

function addKey(keysByValue: Map<string, Set<string>>, value: string, key: string): void {
  const keys = keysByValue.get(value);
  if (keys === undefined) keysByValue.set(value, new Set([key]));
  else keys.add(key);
}

function removeKey(keysByValue: Map<string, Set<string>>, value: string, key: string): void {
  const keys = keysByValue.get(value);
  keys?.delete(key);
  if (keys?.size === 0) keysByValue.delete(value);
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
export interface Reflector<T> {
  startCollecting(): void;
  collect(objects: readonly T[]): void;
  uncollect(object: T): void;
  /** Replaces the contents of the store with the collected objects. */
  swap(announceAll: boolean): void;
  put(object: T): void;
  remove(object: T): void;
}

export function createReflector<T extends KubeObject>(
  store: ObjectStore<T>,
  announce: (change: ObjectChange<T>) => void,
): Reflector<T> {
  let collected = new Map<string, T>();
  return {
    startCollecting: () => void (collected = new Map()),
    collect(objects) {
      for (const object of objects) collected.set(objectKey(object.metadata), object);
    },
    uncollect: (object) => void collected.delete(objectKey(object.metadata)),
    swap(announceAll) {
      const next = collected;
      collected = new Map();
      const former = store.replaceAll(next);
      for (const change of changesBetween(former, next, announceAll)) announce(change);
    },
    put(object) {
      const old = store.put(object);
      for (const change of changesOf(old, object, false)) announce(change);
    },
    remove(object) {
      const old = store.remove(objectKey(object.metadata));
      if (old === undefined) return;
      const isSame = old.metadata.uid === object.metadata.uid;
      announce({ type: "Deleted", object: isSame ? object : old, old });
    },
  };
}

/** Deletions first, then the rest in the order of the new contents. */
export function changesBetween<T extends KubeObject>(
  former: ReadonlyMap<string, T>,
  next: ReadonlyMap<string, T>,
  announceAll: boolean,
): ObjectChange<T>[] {
  const gone = [...former].filter(([key]) => !next.has(key));
  const deleted = gone.map(([, old]): ObjectChange<T> => ({ type: "Deleted", object: old, old }));
  const others = [...next].flatMap(([key, object]) => changesOf(former.get(key), object, announceAll));
  return [...deleted, ...others];
}

function changesOf<T extends KubeObject>(old: T | undefined, object: T, announceAll: boolean): ObjectChange<T>[] {
  if (old === undefined) return [{ type: "Added", object }];
  if (old.metadata.uid !== object.metadata.uid) {
    return [
      { type: "Deleted", object: old, old },
      { type: "Added", object },
    ];
  }
  const isSame = old.metadata.resourceVersion === object.metadata.resourceVersion;
  return isSame && !announceAll ? [] : [{ type: "Changed", object, old }];
}
