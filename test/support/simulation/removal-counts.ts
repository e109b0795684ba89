// Counts the removals for deleted rules within `guards.window`, without code from the planner.
import type { ListName } from "../../../src/model/declared.ts";
import { type EntryOwners, readOwners } from "../../../src/model/rule-id.ts";
import type { Entry } from "../../../src/address/entry.ts";
import type { Gathered } from "../../../src/model/gathered.ts";
import { nameKey } from "../../../src/model/resource.ts";

interface Removal {
  readonly of: string;
  readonly entry: Entry;
  /** By the clock of the process. */
  readonly atMs: number;
  /** The limit of the guard at that time. */
  readonly max: number;
}

export class RemovalCounts {
  #removals: Removal[] = [];

  /** The record was deleted, together with its counts. */
  forget(): void {
    this.#removals = [];
  }

  /**
   * Records the removal. Returns the number of removals within the window if the guard allowed fewer at each of the
   * moments that the clock of the process has shown since the fresh read, latest first.
   */
  note(list: ListName, entry: Entry, owners: EntryOwners, { instance, rules }: Gathered, moments: readonly number[]) {
    const existing = new Set(rules.map(({ rule }) => nameKey(rule.meta)));
    const known = readOwners(owners);
    const isDeleted = known.length > 0 && known.every(({ kind, name }) => kind === "WafIpRule" && !existing.has(name));
    if (!isDeleted || instance.removalWindowMs === 0) return undefined;
    const of = `${nameKey(instance.meta)} ${list}`;
    this.#removals.push({ of, entry, atMs: moments[0] ?? 0, max: instance.guards.maxRemovals });
    const excess = moments.map((atMs) => {
      const recent = this.#removals.filter((removal) => {
        return removal.of === of && Math.abs(atMs - removal.atMs) < instance.removalWindowMs;
      });
      const count = new Set(recent.map((removal) => removal.entry)).size;
      return count > Math.max(...recent.map(({ max }) => max)) ? count : 0;
    });
    const least = Math.min(...excess);
    return least > 0 ? least : undefined;
  }
}
