// Which entries a run added and removed, in groups of the rules that they were for. Counts all of them, and keeps the first
// few of each group.
import type { ListName } from "../model/declared.ts";
import type { EntryOwners } from "../model/entry-owners.ts";
import { readOwners } from "../model/entry-owners.ts";
import type { Entry } from "../model/entry.ts";

/** How many entries of a group are kept. */
export const entriesKeptMax = 10;

export interface EntryChange {
  readonly change: "Added" | "Removed";
  readonly list: ListName;
  /**
   * `namespace/name` of the rules: for an addition the one that it was made for, for a removal those that wanted the entries
   * last. Empty where nothing is recorded of that.
   */
  readonly rules: readonly string[];
  readonly count: number;
  /** The first of them, at most `entriesKeptMax`. */
  readonly entries: readonly Entry[];
}

interface Group extends EntryChange {
  count: number;
  readonly entries: Entry[];
}

export class EntryChanges {
  readonly #groups = new Map<string, Group>();

  /** `rule` is the `namespace/name` of the rule that the addition was made for. */
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
    return [...this.#groups.values()];
  }

  #note(key: string, entry: Entry, make: () => Pick<EntryChange, "change" | "list" | "rules">): void {
    const group = this.#groups.get(key) ?? { ...make(), count: 0, entries: [] };
    this.#groups.set(key, group);
    group.count += 1;
    if (group.entries.length < entriesKeptMax) group.entries.push(entry);
  }
}

function rulesIn(owners: EntryOwners): string[] {
  return [...new Set(readOwners(owners).flatMap(({ kind, name }) => (kind === "WafIpRule" ? [name] : [])))];
}
