// Finds the managed entries whose record may have to change: those that no rule declares, and those with other owners than recorded.
// There are few, so the result for the base maps is cached, and only changed keys are checked again.
import type { Entry } from "../address/entry.ts";
import type { OwnedEntry } from "../model/inventory.ts";
import { layersOf } from "../model/overlaid-map.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import type { OwnerLookup, WantedBy } from "./owner-lookup.ts";
import { compiledIn, type Wanted, type WantedEntries, type Wanting } from "./wanted-entries.ts";

type Owned = ReadonlyMap<Entry, OwnedEntry>;

/** The inputs that determine the owners of entries: equal lists mean equal owners. */
type Basis = readonly unknown[];

interface Known {
  readonly wanted: ReadonlyMap<Entry, Wanting>;
  /** The basis of each combination of rules. */
  readonly bases: ReadonlyMap<Wanting, Basis>;
  /** The outdated entries, including those that no rule declares. */
  readonly outdated: ReadonlySet<Entry>;
}

const known = new WeakMap<Owned, Known>();

/** Whether the record matches the declarations, and its entry does not count as missing. */
export function isOf(record: OwnedEntry, { owners, retainedBy, lines }: WantedBy): boolean {
  return (
    record.owners === owners &&
    record.retainedBy === retainedBy &&
    record.lines === lines &&
    record.missingSinceMs === undefined
  );
}

/** The owned entries whose record may be outdated. */
export function entriesToUpdate(owned: Owned, wanted: WantedEntries, owners: OwnerLookup): Iterable<Entry> {
  const compiled = compiledIn(wanted);
  if (compiled === undefined) return owned.keys();
  const [ownedLayers, wantedLayers] = [layersOf(owned), layersOf(compiled.names.byEntry)];
  const below = outdatedBelow(ownedLayers.base, wantedLayers.base, compiled, owners);
  if (ownedLayers.changes.size === 0 && wantedLayers.changes.size === 0) return below;
  const outdated = new Set(below);
  for (const { changes } of [ownedLayers, wantedLayers]) {
    for (const entry of changes.keys()) {
      const record = owned.get(entry);
      const rules = wanted.get(entry);
      const isCurrent = record === undefined || (rules !== undefined && isOf(record, owners.of(rules, entry)));
      if (isCurrent) outdated.delete(entry);
      else outdated.add(entry);
    }
  }
  return outdated;
}

function outdatedBelow(
  owned: Owned,
  names: ReadonlyMap<Entry, Wanting>,
  wanted: Wanted,
  owners: OwnerLookup,
): ReadonlySet<Entry> {
  const former = known.get(owned);
  if (former?.wanted === names && hasSameBases(former.bases, wanted, owners)) return former.outdated;
  const outdated = new Set<Entry>();
  const bases = new Map<Wanting, Basis>();
  let last: Wanting | undefined;
  let rules: readonly CompiledRule[] = [];
  for (const [entry, record] of owned) {
    const wanting = names.get(entry);
    if (wanting !== undefined && wanting !== last) {
      last = wanting;
      rules = wanted.rulesOf(wanting);
      if (!bases.has(wanting)) bases.set(wanting, basisOf(rules, owners));
    }
    if (wanting === undefined || !isOf(record, owners.of(rules, entry))) outdated.add(entry);
  }
  known.set(owned, { wanted: names, bases, outdated });
  return outdated;
}

function hasSameBases(bases: Known["bases"], wanted: Wanted, owners: OwnerLookup): boolean {
  for (const [wanting, basis] of bases) {
    const rules = wanted.rulesOf(wanting);
    // The entries of a deleted rule are among the changed keys.
    if (rules.length < wanting.length) continue;
    const now = basisOf(rules, owners);
    if (now.length !== basis.length || now.some((item, index) => item !== basis[index])) return false;
  }
  return true;
}

function basisOf(rules: readonly CompiledRule[], owners: OwnerLookup): Basis {
  const always = owners.always(rules);
  if (always !== undefined) return [always.owners, always.retainedBy];
  return rules.flatMap(({ id, rule, parts, declared, lines }) => [
    id,
    rule.deletionPolicy,
    declared === undefined,
    lines,
    ...parts,
  ]);
}
