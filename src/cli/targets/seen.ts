// All objects that a page shows, with their reported status, from one read of a folder or a cluster. No WAF is called.
import type { ObjectName, ResourceRef } from "../../model/resource.ts";
import { nameKey } from "../../model/resource.ts";

export interface SeenObject extends ResourceRef {
  /** As reported; undefined before the first report. */
  readonly status: Readonly<Record<string, unknown>> | undefined;
}

export interface SeenInstance extends SeenObject {
  readonly kind: "WafInstance";
  readonly baseUrl: string;
  readonly isSuspended: boolean;
}

/** A rule or an origin. */
export interface SeenAttached extends SeenObject {
  /** Undefined if the reference can't be read. */
  readonly instance: ObjectName | undefined;
}

export interface Seen {
  readonly atMs: number;
  /** `in folder waf/`, or `in namespace shop`. */
  readonly where: string;
  /** Ordered by name, like the feeds. */
  readonly instances: readonly SeenInstance[];
  readonly attached: readonly SeenAttached[];
  readonly feeds: readonly SeenObject[];
  /** Why nothing could be read, and what to do about it. If this is set, there are no objects. */
  readonly refused: string | undefined;
  /** What could not be read, one sentence each. */
  readonly gaps: readonly string[];
}

/** The rules and origins of each instance, by its name. */
export function attachedByInstance({ attached }: Seen): ReadonlyMap<string, readonly SeenAttached[]> {
  const byInstance = new Map<string, SeenAttached[]>();
  for (const object of attached) {
    if (object.instance === undefined) continue;
    const name = nameKey(object.instance);
    const known = byInstance.get(name);
    if (known === undefined) byInstance.set(name, [object]);
    else known.push(object);
  }
  return byInstance;
}

export function byName<T extends ObjectName>(objects: readonly T[]): T[] {
  return objects.toSorted((a, b) => (nameKey(a) < nameKey(b) ? -1 : 1));
}
