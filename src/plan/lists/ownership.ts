// What wafsync may call its own. An entry is ours from the record that is written before the call that could add it; one
// that was on the list before any rule declared it stays foreign, unless a rule adopts it. What can't be proved ours is not.
import type { Entry } from "../../model/entry.ts";
import type { OwnedEntry } from "../../model/inventory.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import type { ObservedEntries } from "../../model/observed.ts";

/** The annotation on a rule that makes entries ours that were on the list before. */
export const adoptAnnotation = "wafsync.dev/adopt";

export interface ListOwnership {
  /** What the inventory should hold before anything of this plan is done. */
  readonly owned: ReadonlyMap<Entry, OwnedEntry>;
  readonly changed: boolean;
}

/**
 * Works out the ownership of one list.
 *
 * - `adds` will be ours. What is wanted and ours stays ours, with the rule that retains it brought up to date.
 * - What nobody wants and the list does not show is forgotten, and so is what a deleted rule retained.
 */
export function ownEntries(input: {
  readonly owned: ReadonlyMap<Entry, OwnedEntry>;
  readonly wanted: ReadonlyMap<Entry, readonly CompiledRule[]>;
  readonly observed: ObservedEntries;
  readonly adds: readonly Entry[];
  readonly retained: ReadonlySet<Entry>;
}): ListOwnership {
  const { owned, wanted, observed, adds, retained } = input;
  const next = new Map<Entry, OwnedEntry>();
  let changed = false;
  for (const [entry, record] of owned) {
    const rules = wanted.get(entry);
    if (rules === undefined && (retained.has(entry) || !observed.has(entry))) {
      changed = true;
      continue;
    }
    const retainedBy = rules === undefined ? record.retainedBy : retainingRule(rules);
    changed ||= retainedBy !== record.retainedBy;
    next.set(entry, retainedBy === record.retainedBy ? record : { retainedBy });
  }
  const take = (entry: Entry): void => {
    if (next.has(entry)) return;
    next.set(entry, { retainedBy: retainingRule(wanted.get(entry) ?? []) });
    changed = true;
  };
  for (const entry of adds) take(entry);
  for (const entry of adopted(wanted, observed)) take(entry);
  return { owned: changed ? next : owned, changed };
}

function* adopted(
  wanted: ReadonlyMap<Entry, readonly CompiledRule[]>,
  observed: ObservedEntries,
): Generator<Entry, void, void> {
  const adopting = new Set<CompiledRule>();
  for (const rules of wanted.values()) {
    for (const rule of rules) if (rule.rule.meta.annotations[adoptAnnotation] === "true") adopting.add(rule);
  }
  for (const rule of adopting) for (const entry of rule.entries) if (observed.has(entry)) yield entry;
}

function retainingRule(rules: readonly CompiledRule[]): string | undefined {
  return rules.find(({ rule }) => rule.deletionPolicy === "Retain")?.id;
}

/** True if the entry's rule was deleted and wished that its entries stay. */
export function isRetained(record: OwnedEntry | undefined, existingRules: ReadonlySet<string>): boolean {
  return record?.retainedBy !== undefined && !existingRules.has(record.retainedBy);
}

/** What the removals of one list may take: by policy, ownership and `deletionPolicy`. `wanted` entries are never taken. */
export function removableEntries(input: {
  readonly exclusive: boolean;
  readonly owned: ReadonlyMap<Entry, OwnedEntry>;
  readonly wanted: ReadonlyMap<Entry, readonly CompiledRule[]>;
  readonly observed: ObservedEntries;
  readonly existingRules: ReadonlySet<string>;
}): { readonly removals: readonly Entry[]; readonly retained: ReadonlySet<Entry> } {
  const removals: Entry[] = [];
  const retained = new Set<Entry>();
  for (const entry of input.observed.keys()) {
    if (input.wanted.has(entry)) continue;
    const record = input.owned.get(entry);
    if (isRetained(record, input.existingRules) && !input.exclusive) retained.add(entry);
    else if (record !== undefined || input.exclusive) removals.push(entry);
  }
  return { removals, retained };
}
