// Objects that take no part in any pass and still want to hear why: those that refer to no instance, and those that
// cannot be understood.
import { nearestName } from "../../api/nearest-name.ts";
import { nameKey, type ObjectName, type ResourceKind, resourceKinds, type ResourceMeta } from "../../model/resource.ts";
import { type ClusterObject, instanceNameOf } from "./cluster-object.ts";
import type { ClusterStores } from "./cluster-watches.ts";
import { metaOfObject, parseObject } from "./parse-object.ts";

/** A rule, origin or cache clear whose instance is not known. */
export interface Unattached {
  readonly meta: ResourceMeta;
  readonly instance: ObjectName;
  /** One sentence that names the instance and, if one is near, what was probably meant. */
  readonly problem: string;
}

export interface InvalidObject {
  readonly meta: ResourceMeta;
  /** Of what refers to one; undefined for instances, and where the reference itself cannot be read. */
  readonly instance: ObjectName | undefined;
  /** Field, what is wrong, and what to write. */
  readonly problem: string;
}

const attachedKinds = ["WafIpRule", "WafOrigin", "WafCacheClear"] as const;

/** Everything that can be understood and refers to no instance that can; of one instance name, or of all. */
export function unattachedObjects(
  stores: ClusterStores,
  watchedNamespace: string | undefined,
  only: ObjectName | undefined,
): Unattached[] {
  const problems = new Map<string, string | undefined>();
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
      return problem === undefined ? [] : [{ meta, instance, problem }];
    });
  });
}

/** Everything that cannot be understood. */
export function invalidObjects(stores: ClusterStores): InvalidObject[] {
  return resourceKinds.flatMap((kind) => stores.byKind[kind].list().flatMap((object) => invalidObject(kind, object)));
}

function invalidObject(kind: ResourceKind, object: ClusterObject): InvalidObject[] {
  const parsed = parseObject(kind, object);
  if (parsed.ok) return [];
  const instance = kind === "WafInstance" ? undefined : instanceNameOf(object);
  return [{ meta: metaOfObject(kind, object), instance, problem: parsed.problem }];
}

/** Undefined if the instance is there and can be understood. */
function problemOf(
  { byKind: { WafInstance } }: ClusterStores,
  watchedNamespace: string | undefined,
  instance: ObjectName,
): string | undefined {
  const name = nameKey(instance);
  const object = WafInstance.get(name);
  if (object !== undefined) {
    return parseObject("WafInstance", object).ok
      ? undefined
      : `WafInstance ${name} cannot be understood: see its status.`;
  }
  if (watchedNamespace !== undefined && instance.namespace !== watchedNamespace) {
    return `This wafsync works in namespace ${watchedNamespace} alone: WafInstance ${name} is out of its reach.`;
  }
  const known = WafInstance.list().map(({ metadata }) => metadata);
  const near = nearestName(
    instance.name,
    known.filter(({ namespace }) => namespace === instance.namespace).map((metadata) => metadata.name),
  );
  const problem = `There is no WafInstance ${name}`;
  return near === undefined ? `${problem}.` : `${problem}; did you mean ${near}?`;
}
