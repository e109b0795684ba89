// Objects outside every reconcile run, whose status still has to say why: those whose instance does not exist or is being deleted,
// and those that are invalid.
import { nearestName } from "../../api/nearest-name.ts";
import { nameKey, type ObjectName, type ResourceKind, resourceKinds, type ResourceMeta } from "../../model/resource.ts";
import { type ClusterObject, instanceNameOf } from "./cluster-object.ts";
import type { ClusterStores } from "./cluster-watches.ts";
import { metaOfObject, parseInstance, parseObject } from "./parse-object.ts";

/** A rule, origin or cache clear whose instance does not exist or is being deleted. */
export interface Unattached {
  readonly meta: ResourceMeta;
  readonly reason: "InstanceNotFound" | "InstanceDeleting";
  readonly instance: ObjectName;
  /** One sentence that names the instance and, if a similar name exists, suggests it. */
  readonly problem: string;
}

export interface InvalidObject {
  readonly meta: ResourceMeta;
  /** The instance that it refers to; undefined for instances, and if the reference itself cannot be read. */
  readonly instance: ObjectName | undefined;
  /** Which field is wrong, why, and what to write instead. */
  readonly problem: string;
}

const attachedKinds = ["WafIpRule", "WafOrigin", "WafCacheClear"] as const;

/** Every valid object without a valid instance that stays; only those that refer to `only`, if it is given. */
export function unattachedObjects(
  stores: ClusterStores,
  watchedNamespace: string | undefined,
  only: ObjectName | undefined,
): Unattached[] {
  const problems = new Map<string, Pick<Unattached, "reason" | "problem"> | undefined>();
  return attachedKinds.flatMap((kind) => {
    const store = stores.byKind[kind];
    const objects = only === undefined ? store.list() : store.listBy("instance", nameKey(only));
    return objects.flatMap((object) => {
      const parsed = parseObject(kind, object);
      if (!parsed.ok) return [];
      const { meta, instance } = parsed.declared;
      const key = nameKey(instance);
      if (!problems.has(key)) problems.set(key, problemOf(stores, watchedNamespace, instance));
      const problem = problems.get(key);
      return problem === undefined ? [] : [{ meta, instance, ...problem }];
    });
  });
}

/** Every invalid object. */
export function invalidObjects(stores: ClusterStores): InvalidObject[] {
  return resourceKinds.flatMap((kind) => stores.byKind[kind].list().flatMap((object) => invalidObject(kind, object)));
}

function invalidObject(kind: ResourceKind, object: ClusterObject): InvalidObject[] {
  const parsed = parseObject(kind, object);
  if (parsed.ok) return [];
  const instance = kind === "WafInstance" ? undefined : instanceNameOf(object);
  return [{ meta: metaOfObject(kind, object), instance, problem: parsed.problem }];
}

/** Why an object can't attach to the instance; undefined if the instance exists and is valid. */
export function problemOf(
  stores: ClusterStores,
  watchedNamespace: string | undefined,
  instance: ObjectName,
): Pick<Unattached, "reason" | "problem"> | undefined {
  const name = nameKey(instance);
  const object = stores.byKind.WafInstance.get(name);
  if (object === undefined) {
    return { reason: "InstanceNotFound", problem: describeMissing(stores, watchedNamespace, instance) };
  }
  if (parseInstance(object) === undefined) {
    return { reason: "InstanceNotFound", problem: `WafInstance ${name} is invalid: see its status.` };
  }
  if (object.metadata.deletionTimestamp === undefined) return undefined;
  return { reason: "InstanceDeleting", problem: `WafInstance ${name} is being deleted.` };
}

function describeMissing(
  { byKind: { WafInstance } }: ClusterStores,
  watchedNamespace: string | undefined,
  instance: ObjectName,
): string {
  const name = nameKey(instance);
  if (watchedNamespace !== undefined && instance.namespace !== watchedNamespace) {
    return `This wafsync watches only namespace ${watchedNamespace}, so it cannot see WafInstance ${name}.`;
  }
  const known = WafInstance.list().map(({ metadata }) => metadata);
  const near = nearestName(
    instance.name,
    known.filter(({ namespace }) => namespace === instance.namespace).map((metadata) => metadata.name),
  );
  const problem = `There is no WafInstance ${name}`;
  return near === undefined ? `${problem}.` : `${problem}; did you mean ${near}?`;
}
