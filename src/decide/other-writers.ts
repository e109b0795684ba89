// What other writers did to the lists. Unmanaged entries are declared and on a list, but another writer added them, so they stay when
// their rule is deleted or expires. An expired rule reports its remaining entries for the same reason. Drift is what others changed since
// wafsync last read the lists, and contradicts the declared state.
import { type DeclaredInstance, type ListName, listNames } from "../model/declared.ts";
import type { Entry } from "../address/entry.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import type { DesiredState } from "./desired.ts";
import type { Plan } from "./plan.ts";
import { writtenBy } from "./progress.ts";
import type { SeenLists } from "../model/observed.ts";

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
    const expired = writtenBy(rules.filter((rule) => rule.list === list && rule.expired && !rule.rule.meta.deleting));
    return outcomes[list].flatMap(({ entry, declared, shown, rules: declaring, outcome: { kind } }) => {
      const isUnmanaged = shown && (kind === "Foreign" || kind === "Nothing" || kind === "Release");
      if (!isUnmanaged) return [];
      const first = declaring.find(({ expiresAtMs }) => expiresAtMs !== undefined) ?? declaring[0];
      const rule = declared ? first : expired.get(entry)?.at(-1);
      return rule === undefined ? [] : [{ list, entry, rule }];
    });
  });
}

export interface DriftedEntry {
  readonly list: ListName;
  readonly entry: Entry;
  /** `Vanished`: a declared entry is missing from the list. `Appeared`: it is of others, and the list is `Exclusive`. */
  readonly change: "Vanished" | "Appeared";
}

/** Only changes that wafsync corrects are drift: not if it writes nothing, or ignores the entries of other writers. */
export function findDrift(
  { policies }: DeclaredInstance,
  { outcomes }: Pick<Plan, "outcomes">,
  last: Pick<SeenLists, "lists">,
): DriftedEntry[] {
  return listNames.flatMap((list) =>
    outcomes[list].flatMap(({ entry, declared, shown, recorded, outcome }): DriftedEntry[] => {
      const wasShown = last.lists[list].has(entry);
      if (outcome.kind === "Off" || outcome.kind === "NoRoom") return [];
      if (declared) return !shown && wasShown ? [{ list, entry, change: "Vanished" }] : [];
      const isNew = shown && !wasShown && recorded === undefined && policies[list] === "Exclusive";
      return isNew ? [{ list, entry, change: "Appeared" }] : [];
    }),
  );
}
