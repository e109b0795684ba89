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

/** Each method applies its changes in one step, and returns them. */
export interface ObjectStore<T extends KubeObject> extends ObjectView<T> {
  put(object: T): readonly ObjectChange<T>[];
  remove(key: string): readonly ObjectChange<T>[];
  /**
   * Replaces all contents.
   * @param evenIfSame whether objects that look unchanged count as changed
   */
  replaceAll(objects: readonly T[], evenIfSame: boolean): readonly ObjectChange<T>[];
}

/** A change of an object; `old` is the previously stored object, which is also the `object` of a deletion. */
export type ObjectChange<T> =
  | { readonly type: "Added"; readonly object: T }
  | { readonly type: "Changed" | "Deleted"; readonly object: T; readonly old: T };

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

  function replaceAll(list: readonly T[], evenIfSame: boolean): readonly ObjectChange<T>[] {
    const former = objects;
    const next = new Map(list.map((object) => [objectKey(object.metadata), object]));
    indexes = indexesOf(next);
    objects = next;
    const gone = [...former].flatMap(([key, old]) => (next.has(key) ? [] : deletionOf(old)));
    return [...gone, ...[...next].flatMap(([key, object]) => changesTo(object, former.get(key), evenIfSame))];
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
    put: (object) => changesTo(object, change(objectKey(object.metadata), object), false),
    remove: (key) => deletionOf(change(key, undefined)),
    replaceAll,
  };
}

type Index = Map<string, Set<string>> | undefined;

function addKey(index: Index, value: string, key: string): void {
  const keys = index?.get(value);
  if (keys === undefined) index?.set(value, new Set([key]));
  else keys.add(key);
}

function removeKey(index: Index, value: string, key: string): void {
  const keys = index?.get(value);
  keys?.delete(key);
  if (keys?.size === 0) index?.delete(value);
}

function deletionOf<T>(old: T | undefined): readonly ObjectChange<T>[] {
  return old === undefined ? [] : [{ type: "Deleted", object: old, old }];
}

/** An object that was deleted and created again under the same name was deleted and added. */
function changesTo<T extends KubeObject>(
  object: T,
  old: T | undefined,
  evenIfSame: boolean,
): readonly ObjectChange<T>[] {
  if (old?.metadata.uid !== object.metadata.uid) return [...deletionOf(old), { type: "Added", object }];
  const isSame = old.metadata.resourceVersion === object.metadata.resourceVersion;
  return isSame && !evenIfSame ? [] : [{ type: "Changed", object, old }];
}
