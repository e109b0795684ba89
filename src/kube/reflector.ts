// Applies the results of a list-watch to the store and announces the changes: the storing half of client-go's Reflector
// and Store. A list replaces the contents of the store in one step, and only then are the differences announced. Objects
// are the same only if their UIDs are: an object that was deleted and created again under the same name is announced as
// deleted and as added.
import { objectKey, type KubeObject } from "./kube-object.ts";
import type { ObjectStore } from "./store.ts";

/** A change of an object; `old` is the previously stored object. For a deletion, `object` is the last known state. */
export type ObjectChange<T> =
  | { readonly type: "Added"; readonly object: T }
  | { readonly type: "Changed"; readonly object: T; readonly old: T }
  | { readonly type: "Deleted"; readonly object: T; readonly old: T };

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
