// Counts what wafsync removed of rules that were deleted, within `guards.window`, without using anything of the planner.
import type { ListName } from "../../../src/model/declared.ts";
import type { EntryOwners } from "../../../src/model/entry-owners.ts";
import { readOwners } from "../../../src/model/entry-owners.ts";
import type { Entry } from "../../../src/model/entry.ts";
import type { Gathered } from "../../../src/model/gathered.ts";
import { nameKey } from "../../../src/model/resource.ts";

interface Removal {
  readonly of: string;
  readonly entry: Entry;
  /** By the clock of the process. */
  readonly atMs: number;
  /** What the guard allowed then. */
  readonly max: number;
}

export class RemovalCounts {
  #removals: Removal[] = [];

  /** The record is gone, and what it counted with it. */
  forget(): void {
    this.#removals = [];
  }

  /**
   * Notes the removal. Returns how many there are within the window, if the guard allowed fewer all the time, at each of the
   * moments that the clock of the process has shown since the fresh read, the latest first.
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
