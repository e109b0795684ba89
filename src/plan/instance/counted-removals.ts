// Determines which removals count together with those of earlier plans, within `guards.window`.
import type { Entry } from "../../address/entry.ts";
import { feedSourceName } from "../../model/declared-feed.ts";
import type { ListName } from "../../model/declared.ts";
import { type EntryOwner, type EntryOwners, readOwners } from "../../model/entry-owners.ts";
import type { Inventory } from "../../model/inventory.ts";
import { ruleIdOfOwner } from "../../model/rule-id.ts";
import type { DesiredState } from "./desired.ts";

/**
 * Removals of entries that users stopped declaring count over time. The others only count within a plan: expired entries were
 * declared to end, entries that left a feed have passed its guards, and unmanaged entries were never declared.
 */
export function countsOverTime(
  list: ListName,
  { rules }: Pick<DesiredState, "rules">,
  { entries }: Pick<Inventory, "entries">,
): (entry: Entry) => boolean {
  const ending = new Set<string>();
  for (const { id, rule, expired } of rules) {
    if (rule.meta.deleting) continue;
    if (expired) ending.add(id);
    else for (const feed of rule.feeds) ending.add(`${id} ${feedSourceName(feed)}`);
  }
  const known = new Map<EntryOwners, boolean>();
  return (entry) => {
    const owners = entries[list].get(entry)?.owners;
    if (owners === undefined) return false;
    const before = known.get(owners);
    if (before !== undefined) return before;
    const read = readOwners(owners);
    const endsWith = (owner: EntryOwner): boolean => {
      const id = ruleIdOfOwner(owner) ?? "";
      return ending.has(id) || (owner.source !== undefined && ending.has(`${id} ${owner.source}`));
    };
    const counts = read.length === 0 || !read.every(endsWith);
    known.set(owners, counts);
    return counts;
  };
}
