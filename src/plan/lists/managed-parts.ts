// Finds the entry of a list that a declared entry was sent as: itself, or the wider or merged entry that stands for it.
import type { Entry } from "../../model/entry.ts";
import type { OwnedEntry } from "../../model/inventory.ts";

type OwnedEntries = ReadonlyMap<Entry, OwnedEntry>;

const noEntries: readonly Entry[] = [];

// Records are replaced as a whole, and conflicts are checked against the same one repeatedly.
const known = new WeakMap<OwnedEntries, ReadonlyMap<Entry, readonly Entry[]>>();

/** The managed entries that cover a declared one; empty if there are none. */
export function sentAs(owned: OwnedEntries, entry: Entry): readonly Entry[] {
  const covers = coversIn(owned).get(entry) ?? noEntries;
  return owned.has(entry) ? [entry, ...covers] : covers;
}

function coversIn(owned: OwnedEntries): ReadonlyMap<Entry, readonly Entry[]> {
  const indexed = known.get(owned);
  if (indexed !== undefined) return indexed;
  const covers = new Map<Entry, Entry[]>();
  for (const [cover, { standsFor }] of owned) {
    for (const part of standsFor ?? noEntries) {
      if (part !== cover) covers.set(part, [...(covers.get(part) ?? []), cover]);
    }
  }
  known.set(owned, covers);
  return covers;
}
