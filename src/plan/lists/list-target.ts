// The entries that currently belong on a list: the compacted list, adjusted to what the list shows.
//
// - If the WAF does not accept an entry that represents others, these are sent instead.
// - A merged network is not added while the list has all of its parts and wafsync would not remove them: this would change nothing.
// - Declared entries that were adopted stay on the list, even if another entry covers them.
import type { Entry } from "../../model/entry.ts";
import type { OwnedEntry } from "../../model/inventory.ts";
import type { ObservedEntries } from "../../model/observed.ts";
import type { CompactedList } from "./compact-list.ts";
import type { CompiledRule } from "./compiled-rule.ts";

export type ListTarget = ReadonlyMap<Entry, readonly CompiledRule[]>;

export interface TargetInput {
  readonly compacted: CompactedList;
  readonly declared: ListTarget;
  readonly live: ObservedEntries;
  readonly owned: ReadonlyMap<Entry, OwnedEntry>;
  /** Whether the entry is missing and can't be added now. */
  readonly isStuck: (entry: Entry, rules: readonly CompiledRule[]) => boolean;
}

export function targetOf({ compacted, declared, live, owned, isStuck }: TargetInput): ListTarget {
  const { sent, standsFor } = compacted;
  if (standsFor.size === 0) return sent;
  const target = new Map(sent);
  const isKept = (entry: Entry): boolean => live.has(entry) && owned.get(entry)?.manner !== "Added";
  for (const [cover, entries] of standsFor) {
    const rules = sent.get(cover) ?? [];
    const isMerged = !declared.has(cover);
    if (!live.has(cover)) {
      if (isMerged && entries.every(isKept)) target.delete(cover);
      else if (isStuck(cover, rules)) {
        if (isMerged) target.delete(cover);
        for (const entry of entries) keep(target, entry, declared);
        continue;
      }
    }
    for (const entry of entries) {
      if (live.has(entry) && owned.get(entry)?.manner === "Adopted") keep(target, entry, declared);
    }
  }
  return target;
}

function keep(target: Map<Entry, readonly CompiledRule[]>, entry: Entry, declared: ListTarget): void {
  const rules = declared.get(entry);
  if (rules !== undefined && !target.has(entry)) target.set(entry, rules);
}
