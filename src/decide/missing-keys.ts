// Finds entries of one map that another one lacks: declared entries that a list does not show, and the reverse. Cached for each
// pair of maps. For maps that overlay these, only the changed keys are compared again.
import type { Entry } from "../address/entry.ts";
import { layersOf } from "../model/overlaid-map.ts";

type EntryMap = ReadonlyMap<Entry, unknown>;

const known = new WeakMap<EntryMap, WeakMap<EntryMap, ReadonlySet<Entry>>>();

/** The keys of the first map that the second one lacks, in the order of the first; those that changed come last. */
export function missingKeys(of: EntryMap, second: EntryMap): ReadonlySet<Entry> {
  const [a, b] = [layersOf(of), layersOf(second)];
  const below = missingBelow(a.base, b.base);
  if (a.changes.size === 0 && b.changes.size === 0) return below;
  const missing = new Set(below);
  for (const { changes } of [a, b]) {
    for (const entry of changes.keys()) {
      if (of.has(entry) && !second.has(entry)) missing.add(entry);
      else missing.delete(entry);
    }
  }
  return missing;
}

function missingBelow(of: EntryMap, second: EntryMap): ReadonlySet<Entry> {
  const others = known.get(of) ?? new WeakMap<EntryMap, ReadonlySet<Entry>>();
  known.set(of, others);
  const former = others.get(second);
  if (former !== undefined) return former;
  const missing = new Set<Entry>();
  if (!isWithin(of, second)) for (const entry of of.keys()) if (!second.has(entry)) missing.add(entry);
  others.set(second, missing);
  return missing;
}

/** Whether the result of the reverse comparison proves that nothing is missing. */
function isWithin(of: EntryMap, second: EntryMap): boolean {
  const others = known.get(second)?.get(of);
  return others !== undefined && second.size - others.size === of.size;
}
