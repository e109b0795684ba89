// Declared entries that are on the lists but not managed: another writer added them, so they stay when their rule is deleted or
// expires. An expired rule reports its remaining entries for the same reason.
import type { ListName } from "../model/declared.ts";
import { listNames } from "../model/declared.ts";
import type { Entry } from "../address/entry.ts";
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
  { instance, rules }: Pick<DesiredState, "instance" | "rules">,
  { outcomes }: Pick<Plan, "outcomes">,
): UnmanagedEntry[] {
  return listNames.flatMap((list) => {
    if (instance.policies[list] !== "Additive") return [];
    const expired = new Map<Entry, CompiledRule>();
    for (const rule of rules) {
      if (rule.list !== list || !rule.expired || rule.rule.meta.deleting) continue;
      for (const { entries } of rule.parts) for (const entry of entries.keys()) expired.set(entry, rule);
    }
    return outcomes[list].flatMap(({ entry, declared, shown, rules: declaring, outcome: { kind } }) => {
      const isUnmanaged = shown && (kind === "Foreign" || kind === "Nothing" || kind === "Release");
      if (!isUnmanaged) return [];
      const first = declaring.find(({ expiresAtMs }) => expiresAtMs !== undefined) ?? declaring[0];
      const rule = declared ? first : expired.get(entry);
      return rule === undefined ? [] : [{ list, entry, rule }];
    });
  });
}
