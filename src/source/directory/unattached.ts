// Finds objects that refer to an instance that the directory does not declare, usually because of a typo.
import { nearestName } from "../../api/nearest-name.ts";
import type { BrokenReference, BrokenReferences } from "../../model/gathered.ts";
import { nameKey, resourceKey } from "../../model/resource.ts";
import type { ObjectName, ResourceMeta } from "../../model/resource.ts";
import { listed } from "../../model/sentence.ts";
import { placeOfReference } from "./place-of-field.ts";
import type { DirectorySnapshot } from "./snapshot.ts";
import type { RemovalScope } from "./source-fault.ts";

const namesShownMax = 5;

/** A rule, origin or cache clear whose instance is not in the directory. */
export interface Unattached {
  readonly meta: ResourceMeta;
  readonly instance: ObjectName;
  /** File and line of its reference to the instance: `rules.yaml:7`. */
  readonly place: string;
  /** One sentence that names the instance and, if a similar name exists, suggests it. */
  readonly problem: string;
}

/** All objects that refer to an undeclared instance. */
export function unattachedOf(snapshot: DirectorySnapshot): Unattached[] {
  const attachable = [...snapshot.rules, ...snapshot.origins, ...snapshot.cacheClears, ...snapshot.autoBlocks];
  return attachable
    .filter(({ instance }) => !snapshot.instances.has(nameKey(instance)))
    .map(({ meta, instance }) => ({
      meta,
      instance,
      place: placeOfReference(snapshot, meta),
      problem: missingInstance(snapshot, instance),
    }));
}

const knownReferences = new WeakMap<DirectorySnapshot, BrokenReferences>();

/** The same for all instances of a snapshot: only their inventories record to which of them an object belonged. */
export function brokenReferencesOf(snapshot: DirectorySnapshot): BrokenReferences {
  const known = knownReferences.get(snapshot);
  if (known !== undefined) return known;
  const unattached = new Map(unattachedOf(snapshot).map((one) => [resourceKey(one.meta), one]));
  const objects = new Map<string, BrokenReference>();
  for (const declared of [...snapshot.rules, ...snapshot.origins, ...snapshot.autoBlocks]) {
    const key = resourceKey(declared.meta);
    const one = unattached.get(key);
    if (one !== undefined) objects.set(key, { declared, problem: one.problem, place: one.place });
  }
  const references = { objects, existing: new Set(snapshot.items.keys()) };
  knownReferences.set(snapshot, references);
  return references;
}

function missingInstance(snapshot: DirectorySnapshot, instance: ObjectName): string {
  const known = [...snapshot.instances.values()];
  const elsewhere = known.find(({ meta }) => meta.name === instance.name);
  const inNamespace = known.filter(({ meta }) => meta.namespace === instance.namespace).map(({ meta }) => meta.name);
  const near = nearestName(instance.name, inNamespace);
  const problem = `there is no WafInstance ${nameKey(instance)} in the directory`;
  const isRefused = snapshot.faults.some(
    ({ severity, blocksRemovals }) => severity === "Error" && isFor(blocksRemovals, instance),
  );
  if (near === undefined && isRefused) return `${problem} that is valid: correct its errors first`;
  if (near !== undefined) return `${problem}; did you mean ${near}?`;
  if (elsewhere === undefined) {
    const names = known.map(({ meta }) => nameKey(meta)).sort();
    return names.length === 0 ? `${problem}: declare one` : `${problem}: there is ${listed(names, namesShownMax)}`;
  }
  return `${problem}; there is one in namespace ${elsewhere.meta.namespace}: name it in spec.instanceRef.namespace`;
}

function isFor(scope: RemovalScope, { namespace, name }: ObjectName): boolean {
  return typeof scope !== "string" && scope.namespace === namespace && scope.name === name;
}
