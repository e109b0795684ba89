// Compares what a run has learned: with a later read, or with its plan.
import { requestedAtAnnotation } from "../kinds/kinds.ts";
import type { Gathered } from "../model/gathered.ts";
import { continuedBy } from "../model/continues.ts";
import { listNames } from "../model/declared.ts";
import type { Inventory } from "../model/inventory.ts";
import { resourceKey } from "../model/resource.ts";
import type { Observed } from "../model/observed.ts";
import { attemptOf } from "../decide/admit-instance.ts";
import type { DesiredState } from "../decide/desired.ts";
import type { Plan } from "../decide/plan.ts";

/** Identifies everything except the WAF that an attempt depends on; see `attemptOf`. */
export function attemptIn(gathered: Gathered): string {
  const { meta } = gathered.instance;
  return attemptOf(gathered, meta.annotations[requestedAtAnnotation] ?? "", meta.generation);
}

/** True if both are the same WAF and key, and neither or both are being deleted. Otherwise the run has to start again. */
export function isSameWaf(a: Gathered, b: Gathered): boolean {
  if (a.instance.baseUrl !== b.instance.baseUrl || a.instance.meta.uid !== b.instance.meta.uid) return false;
  if (a.instance.meta.deleting !== b.instance.meta.deleting) return false;
  if (a.instance.expectedDomain !== b.instance.expectedDomain || a.sameKey.length !== b.sameKey.length) return false;
  if (a.key.state !== "Present" || b.key.state !== "Present") return false;
  return a.key.key.reveal() === b.key.key.reveal();
}

/** True if the plan drops a managed entry or origin from the inventory that may still be on the WAF. */
export function orphansEntries(inventory: Inventory, observed: Observed, plan: Plan): boolean {
  const next = plan.inventory;
  if (next === inventory) return false;
  for (const host of inventory.origins.keys()) if (!next.origins.has(host)) return true;
  return listNames.some((list) => {
    const live = observed.lists[list];
    const before = inventory.entries[list];
    if (before === next.entries[list]) return false;
    for (const entry of before.keys()) if (live.has(entry) && !next.entries[list].has(entry)) return true;
    return false;
  });
}

/** The number of declared entries that are on the lists but not managed. */
export function countUnmanaged(desired: DesiredState, observed: Observed, { entries }: Inventory): number {
  let count = 0;
  for (const list of listNames) {
    for (const entry of desired.lists[list].keys()) {
      if (observed.lists[list].has(entry) && !entries[list].has(entry)) count += 1;
    }
  }
  return count;
}

/** True if a cache shows the same version of every object as a fresh read. */
export function showsSame(cached: Gathered, read: Gathered): boolean {
  return cached === read || versionsIn(cached) === versionsIn(read);
}

function versionsIn({
  instance,
  rules,
  origins,
  cacheClears,
  autoBlocks = [],
  brokenReferences,
  invalidObjects,
}: Gathered): string {
  const broken = [...(brokenReferences?.objects.values() ?? [])].map(({ declared }) => declared);
  const objects = [instance, ...rules.map(({ rule }) => rule), ...origins, ...cacheClears, ...autoBlocks, ...broken];
  const versions = objects.map((object) => {
    const { uid, generation, annotations, deleting } = object.meta;
    // Objects in a directory have no versions, so their content is compared.
    if (uid === "") return JSON.stringify(object);
    return JSON.stringify([resourceKey(object.meta), uid, generation, annotations, deleting]);
  });
  const texts = rules.flatMap((rule) => rule.texts.map((text) => JSON.stringify(text)));
  const invalid = [...(invalidObjects ?? [])].map((fault) => JSON.stringify(fault));
  return [...versions, ...texts, ...invalid].toSorted().join("\n");
}

/** False if the entries of a deleted instance must stay, because the instance was changed after its deletion. */
export function wantsRemoval({ instance, sameKey }: Gathered): boolean {
  return instance.deletionPolicy === "Delete" && !instance.suspend && continuedBy(instance.meta, sameKey) === undefined;
}
