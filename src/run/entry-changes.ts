// The entries that a run added and removed, grouped by rule. Counts each entry once, even if its write is repeated
// because the WAF does not show it, and keeps the first few entries of each group.
import type { ListName } from "../model/declared.ts";
import type { EntryOwners } from "../model/entry-owners.ts";
import { readOwners } from "../model/entry-owners.ts";
import type { Entry } from "../address/entry.ts";
import { ruleIdOfOwner } from "../model/rule-id.ts";

/** The number of entries kept per group. */
export const entriesKeptMax = 10;

export interface EntryChange {
  readonly change: "Added" | "Removed";
  readonly list: ListName;
  /**
   * `namespace/name` of the rules: for an addition its rule, for a removal the rules that last declared the entries. Empty if
   * nothing is recorded.
   */
  readonly rules: readonly string[];
  readonly count: number;
  /** The first entries, at most `entriesKeptMax`. */
  readonly entries: readonly Entry[];
}

interface Group extends EntryChange {
  count: number;
  readonly entries: Entry[];
  readonly counted: Set<Entry>;
}

export class EntryChanges {
  readonly #groups = new Map<string, Group>();

  /** `rule` is the `namespace/name` of the rule of the addition. */
  added(list: ListName, entry: Entry, rule: string | undefined): void {
    this.#note(`Added ${list} ${rule ?? ""}`, entry, () => ({
      change: "Added",
      list,
      rules: rule === undefined ? [] : [rule],
    }));
  }

  removed(list: ListName, entry: Entry, owners: EntryOwners): void {
    this.#note(`Removed ${list} ${owners}`, entry, () => ({ change: "Removed", list, rules: rulesIn(owners) }));
  }

  all(): readonly EntryChange[] {
    return Array.from(this.#groups.values(), ({ change, list, rules, count, entries }) => ({
      change,
      list,
      rules,
      count,
      entries,
    }));
  }

  #note(key: string, entry: Entry, make: () => Pick<EntryChange, "change" | "list" | "rules">): void {
    const group = this.#groups.get(key) ?? { ...make(), count: 0, entries: [], counted: new Set() };
    this.#groups.set(key, group);
    if (group.counted.has(entry)) return;
    group.counted.add(entry);
    group.count += 1;
    if (group.entries.length < entriesKeptMax) group.entries.push(entry);
  }
}

function rulesIn(owners: EntryOwners): string[] {
  return [...new Set(readOwners(owners).flatMap((owner) => ruleIdOfOwner(owner) ?? []))];
}
