// A list accepts a limited number of entries. If not all of them fit, it gets, in this order:
//
// 1. entries of other writers, which wafsync does not remove;
// 2. entries with higher priority;
// 3. entries that are already on the list, so that a new rule with the same priority unblocks nothing;
// 4. entries of older rules.
import type { Entry } from "../address/entry.ts";
import type { OwnedEntry } from "../model/inventory.ts";
import type { ObservedEntries } from "../model/observed.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import type { Declarers } from "./book.ts";

export interface CapacityInput {
  readonly target: ReadonlyMap<Entry, Declarers>;
  readonly live: ObservedEntries;
  readonly owned: ReadonlyMap<Entry, OwnedEntry>;
  readonly maxEntries: number | undefined;
  /** Whether wafsync removes the entries of other writers. */
  readonly exclusive: boolean;
  /** Oldest first. */
  readonly rules: readonly CompiledRule[];
}

const nothingLeftOut: ReadonlySet<Entry> = new Set();

/** The entries of the target that do not fit. */
export function leftOutOf({ target, live, owned, maxEntries, exclusive, rules }: CapacityInput): ReadonlySet<Entry> {
  if (maxEntries === undefined) return nothingLeftOut;
  const isForeign = (entry: Entry): boolean => live.has(entry) && !owned.has(entry);
  let room = maxEntries;
  if (!exclusive) for (const entry of live.keys()) if (!target.has(entry) && isForeign(entry)) room -= 1;
  if (target.size <= room) return nothingLeftOut;
  const ages = new Map(rules.map((rule, index) => [rule, index]));
  const ranked = [...target]
    .map(([entry, { rules: wantedBy }]) => ({
      entry,
      isFixed: isForeign(entry),
      priority: Math.max(...wantedBy.map(({ rule }) => rule.priority)),
      isLive: live.has(entry),
      age: Math.min(...wantedBy.map((rule) => ages.get(rule) ?? 0)),
    }))
    .toSorted(
      (a, b) =>
        Number(b.isFixed) - Number(a.isFixed) ||
        b.priority - a.priority ||
        Number(b.isLive) - Number(a.isLive) ||
        a.age - b.age ||
        (a.entry < b.entry ? -1 : 1),
    );
  return new Set(ranked.slice(Math.max(0, room)).flatMap(({ entry, isFixed }) => (isFixed ? [] : [entry])));
}
