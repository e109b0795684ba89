// Declared entries that are on the lists but not managed: another writer added them, so they stay when their rule is deleted or
// expires. An expired rule reports its remaining entries for the same reason.
import type { ListName } from "../model/declared.ts";
import { listNames } from "../model/declared.ts";
import type { Entry } from "../address/entry.ts";
import type { Observed } from "../model/observed.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import type { DesiredState } from "./desired.ts";
import type { Plan } from "./plan.ts";

export interface UnmanagedEntry {
  readonly list: ListName;
  readonly entry: Entry;
  /** The rule that declares it; if there are several, one with an expiry. */
  readonly rule: CompiledRule;
}

/** Only for lists where such entries stay: `Exclusive` removes them, and `Observe` manages nothing. */
export function findUnmanaged(
  { instance, lists, rules }: Pick<DesiredState, "instance" | "lists" | "rules">,
  observed: Observed,
  plan: Pick<Plan, "lists" | "inventory">,
): UnmanagedEntry[] {
  const found: UnmanagedEntry[] = [];
  for (const list of listNames) {
    if (instance.policies[list] !== "Additive" || plan.lists[list].foreign === 0) continue;
    const managed = plan.inventory.entries[list];
    const isUnmanaged = (entry: Entry): boolean => observed.lists[list].has(entry) && !managed.has(entry);
    for (const [entry, { rules: wantedBy }] of lists[list]) {
      if (!isUnmanaged(entry)) continue;
      const rule = wantedBy.find(({ expiresAtMs }) => expiresAtMs !== undefined) ?? wantedBy[0];
      if (rule !== undefined) found.push({ list, entry, rule });
    }
    const left = new Map<Entry, CompiledRule>();
    for (const rule of rules) {
      if (rule.list !== list || !rule.expired || rule.rule.meta.deleting) continue;
      for (const entry of rule.parts.flatMap(({ entries }) => [...entries.keys()])) {
        if (!lists[list].has(entry) && isUnmanaged(entry)) left.set(entry, rule);
      }
    }
    for (const [entry, rule] of left) found.push({ list, entry, rule });
  }
  return found;
}
