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

/** An object that refers to an instance. */
export interface SeenAttached extends SeenObject {
  /** Undefined if the reference can't be read. */
  readonly instance: ObjectName | undefined;
  /** Why the rule exists, in its author's words. */
  readonly description?: string | undefined;
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

/** The objects that refer to each instance, by its name. */
export function attachedByInstance({ attached }: Seen): ReadonlyMap<string, readonly SeenAttached[]> {
  return Map.groupBy(attached, ({ instance }) => (instance === undefined ? "" : nameKey(instance)));
}

export function byName<T extends ObjectName>(objects: readonly T[]): T[] {
  return objects.toSorted((a, b) => (nameKey(a) < nameKey(b) ? -1 : 1));
}
