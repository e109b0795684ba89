// A plan in numbers: how far each list and each rule is.
import type { ListName } from "../../model/declared.ts";
import type { Entry } from "../../model/entry.ts";
import type { Inventory, OwnedEntry, Refusal } from "../../model/inventory.ts";
import type { Observed } from "../../model/observed.ts";
import type { Operation } from "../../model/operation.ts";
import { partOf } from "../../model/operation.ts";
import type { CompiledRule } from "../lists/compiled-rule.ts";
import type { HoldIndex } from "../lists/holds.ts";
import type { HeldRemovals } from "../lists/removal-guard.ts";

export interface ListSummary {
  /** Entries that the list shows. */
  readonly live: number;
  /** Of these, the ones that wafsync added. */
  readonly managed: number;
  readonly foreign: number;
  /** Writes of this plan that are still to be done. */
  readonly pending: number;
  /** Removals on hold: they await an approval, or something that can't be read now. */
  readonly held: number;
}

/** The lists in numbers, with `operations` still to be done. */
export function summarizeLists(
  observed: Observed,
  inventory: Inventory,
  operations: readonly Operation[],
  held: HeldRemovals | undefined,
): Readonly<Record<ListName, ListSummary>> {
  const of = (list: ListName): ListSummary => {
    const live = observed.lists[list];
    const managed = countOwned(live, inventory.entries[list]);
    return {
      live: live.size,
      managed,
      foreign: live.size - managed,
      pending: operations.filter((operation) => partOf(operation) === list).length,
      held: held?.removals[list].length ?? 0,
    };
  };
  return { blocklist: of("blocklist"), allowlist: of("allowlist") };
}

function countOwned(live: ReadonlyMap<Entry, unknown>, owned: ReadonlyMap<Entry, OwnedEntry>): number {
  let count = 0;
  for (const entry of owned.keys()) if (live.has(entry)) count += 1;
  return count;
}

/** How many entries the missing sources of each rule wanted last, beyond what the rule wants now. By the rule's ID. */
export function countAwaited(
  { rules, lists }: { readonly rules: readonly CompiledRule[]; readonly lists: Inventory["entries"] },
  holds: HoldIndex,
): ReadonlyMap<string, number> {
  const awaited = new Map<string, number>();
  const missing = rules.filter(({ verdict }) => verdict === "SourceMissing");
  if (missing.length === 0) return awaited;
  const byId = new Map(missing.map((rule) => [rule.id, rule]));
  for (const list of ["blocklist", "allowlist"] as const) {
    for (const [entry, record] of lists[list]) {
      for (const id of holds.awaiting(list, record)) {
        if (byId.get(id)?.entries.has(entry) === false) awaited.set(id, (awaited.get(id) ?? 0) + 1);
      }
    }
  }
  return awaited;
}

/** How far one rule is, counted on what the WAF shows. */
export interface RuleProgress {
  /** What it wants, and what its missing sources wanted last. */
  readonly desired: number;
  readonly synced: number;
  readonly pending: number;
  /** What its missing sources wanted last: it stays as it is on the WAF, and counts as neither synced nor pending. */
  readonly awaited: number;
  /** On the list already when a rule wanted them: they stay when it wants them no longer. Of an expired rule, too. */
  readonly foreign: number;
  /** Refused by the API; the entries that wafsync itself refuses are counted on the rule. */
  readonly refused: readonly { readonly entry: Entry; readonly message: string }[];
}

export function ruleProgress(
  rule: CompiledRule,
  observed: Observed,
  plan: {
    readonly refusals: ReadonlyMap<string, Refusal>;
    readonly awaited: ReadonlyMap<string, number>;
    readonly lists: Readonly<Record<ListName, ListSummary>>;
  },
  managed: Inventory["entries"],
): RuleProgress {
  const live = observed.lists[rule.list];
  const owned = managed[rule.list];
  // Only a new plan can find any where there were none.
  const hasForeign = plan.lists[rule.list].foreign > 0;
  const refused: { entry: Entry; message: string }[] = [];
  let synced = 0;
  let foreign = 0;
  for (const entry of rule.entries) {
    if (live.has(entry)) {
      synced += 1;
      if (hasForeign && !owned.has(entry)) foreign += 1;
    } else if (plan.refusals.size > 0) {
      const refusal = plan.refusals.get(`${rule.list} +${entry}`);
      if (refusal !== undefined) refused.push({ entry, message: refusal.message });
    }
  }
  for (const entry of hasForeign ? expiredEntries(rule) : []) if (live.has(entry) && !owned.has(entry)) foreign += 1;
  const awaited = plan.awaited.get(rule.id) ?? 0;
  const wanted = rule.entries.size;
  return { desired: wanted + awaited, synced, pending: wanted - synced - refused.length, awaited, foreign, refused };
}

/** `120/10000`, or `expired`: rejected entries count as declared. */
export function progressText(rule: CompiledRule, { synced, desired }: RuleProgress): string {
  return rule.expired ? "expired" : `${synced}/${desired + rule.rejected.length}`;
}

/** The entries of an expired rule that are managed and still on the WAF, although no rule wants them. */
export function entriesLeft(
  rule: CompiledRule,
  {
    observed,
    wanted,
    managed,
  }: {
    readonly observed: Observed;
    readonly wanted: ReadonlyMap<Entry, unknown>;
    readonly managed: Inventory["entries"];
  },
): readonly Entry[] {
  const live = observed.lists[rule.list];
  const owned = managed[rule.list];
  return expiredEntries(rule).filter((entry) => live.has(entry) && owned.has(entry) && !wanted.has(entry));
}

/** What an expired rule wanted, without repetitions; empty as long as it has not expired. */
function expiredEntries({ expired, parts }: CompiledRule): readonly Entry[] {
  if (!expired) return [];
  return [...new Set(parts.flatMap(({ entries }) => [...entries.keys()]))];
}
