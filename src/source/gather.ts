// Gathers what a reconcile run of one instance needs. The objects come from the watches of the operator, from a fresh read, or from the
// files of a folder. Operator and commands use this function for all of them, so that they cannot disagree.
import { nearestName } from "../kinds/nearest-name.ts";
import type { DeclaredByKind } from "../kinds/to-declared.ts";
import type { Gathered } from "../model/gathered.ts";
import { nameKey, type ObjectName, type GuestKind, guestKinds } from "../model/resource.ts";
import { listed } from "../model/texts.ts";

export type Labels = Readonly<Record<string, string>>;

/** The labels of a namespace; undefined if unknown. */
export type LabelsOf = (namespace: string) => Labels | undefined;

export type AttachedObjects = { readonly [Kind in GuestKind]: readonly DeclaredByKind[Kind][] };

/** A value for each kind that can be attached to an instance. */
export function byGuestKind<T>(valueOf: (kind: GuestKind) => T): Readonly<Record<GuestKind, T>> {
  return Object.fromEntries(guestKinds.map((kind) => [kind, valueOf(kind)])) as Record<GuestKind, T>;
}

type OfObjects = "origins" | "cacheClears" | "autoBlocks" | "namespaceLabels";

/** The instance with everything that was read for it, and the objects as their kinds declare them. */
export interface ObjectSet extends Omit<Gathered, OfObjects> {
  /** All valid objects that refer to the instance, except those of namespaces that are known to have no access in a cluster. */
  readonly attached: AttachedObjects;
  readonly labelsOf: LabelsOf;
}

/**
 * Says, as a part of a sentence, that the instance does not exist, and which one may be meant.
 * @param known the instances that the author of the object may know
 */
export function missingInstance(instance: ObjectName, known: readonly ObjectName[], where = ""): string {
  const problem = `there is no WafInstance ${nameKey(instance)}${where}`;
  const neighbours = known.filter(({ namespace }) => namespace === instance.namespace);
  const near = nearestName(
    instance.name,
    neighbours.map(({ name }) => name),
  );
  if (near !== undefined) return `${problem}; did you mean ${near}?`;
  const elsewhere = known.find(({ name }) => name === instance.name);
  if (elsewhere === undefined) return problem;
  return `${problem}; there is one in namespace ${elsewhere.namespace}: name it in spec.instanceRef.namespace`;
}

export function gather({ attached, labelsOf, ...read }: ObjectSet): Gathered {
  const { WafOrigin: origins, WafCacheClear: cacheClears, WafAutoBlock: autoBlocks } = attached;
  const namespaceLabels = new Map<string, Labels>();
  for (const { meta } of Object.values(attached).flat()) {
    const labels = namespaceLabels.get(meta.namespace) ?? labelsOf(meta.namespace);
    if (labels !== undefined) namespaceLabels.set(meta.namespace, labels);
  }
  return { ...read, origins, cacheClears, ...(autoBlocks.length > 0 && { autoBlocks }), namespaceLabels };
}

const namesShownMax = 5;

/** The keys of a Secret or ConfigMap, for messages about a missing key: `it has ca.crt, tls.crt and 3 more`, in the order of their names. */
export function keysInWords(keys: Iterable<string>): string {
  const names = [...keys].toSorted();
  return names.length === 0 ? "it has no data" : `it has ${listed(names, namesShownMax)}`;
}
