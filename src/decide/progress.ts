// The numbers of a plan: the progress of each list and each rule.
import type { ListName } from "../model/declared.ts";
import { readOwners, remembering } from "../model/entry-owners.ts";
import type { Entry } from "../address/entry.ts";
import type { Inventory, Refusal } from "../model/inventory.ts";
import type { Observed } from "../model/observed.ts";
import { type Operation, partOf } from "../model/operation.ts";
import { ruleIdOfOwner } from "../model/rule-id.ts";
import { type CompiledRule, faultsIn } from "./compiled-rule.ts";
import type { HeldRemovals } from "./removal-guard.ts";

export interface ListSummary {
  /** Entries that the list shows. */
  readonly live: number;
  /** Managed entries among them. */
  readonly managed: number;
  readonly foreign: number;
  /** Writes of this plan that are not done yet. */
  readonly pending: number;
  /** Removals on hold. */
  readonly held: number;
  /** Entries that the list has no room for. */
  readonly overflow: number;
}

/** The numbers of the lists, with `operations` pending. */
export function summarizeLists(
  observed: Observed,
  inventory: Inventory,
  operations: readonly Operation[],
  decided: {
    readonly held: HeldRemovals | undefined;
    readonly overflowOn: (list: ListName) => number;
  },
): Readonly<Record<ListName, ListSummary>> {
  const of = (list: ListName): ListSummary => {
    const live = observed.lists[list];
    let foreign = 0;
    for (const entry of live.keys()) if (!inventory.entries[list].has(entry)) foreign += 1;
    return {
      live: live.size,
      managed: live.size - foreign,
      foreign,
      pending: countOf(list, operations),
      held: decided.held?.removals[list].length ?? 0,
      overflow: decided.overflowOn(list),
    };
  };
  return { blocklist: of("blocklist"), allowlist: of("allowlist") };
}

function countOf(list: ListName, operations: readonly Operation[]): number {
  let count = 0;
  for (const operation of operations) if (partOf(operation) === list) count += 1;
  return count;
}

/** The progress of one rule, based on the lists of the WAF. */
export interface RuleProgress {
  /** The number of its declared entries, including those that only the record says it declares. */
  readonly desired: number;
  readonly synced: number;
  readonly pending: number;
  /** Entries that were on the list before a rule declared them: they stay when no rule declares them. Also for expired rules. */
  readonly foreign: number;
  /** Entries that the list has no room for. */
  readonly leftOut: readonly Entry[];
  /** Rejected by the API; entries that wafsync itself rejects are counted on the rule. */
  readonly refused: readonly { readonly entry: Entry; readonly message: string }[];
}

export function ruleProgress(
  rule: CompiledRule,
  observed: Observed,
  plan: {
    readonly refusals: ReadonlyMap<string, Refusal>;
    readonly lists: Readonly<Record<ListName, ListSummary>>;
    readonly leftOut: Readonly<Record<ListName, ReadonlySet<Entry>>>;
  },
  managed: Inventory["entries"],
): RuleProgress {
  const live = observed.lists[rule.list];
  const owned = managed[rule.list];
  const overflow = plan.leftOut[rule.list];
  // Only a new plan can find unmanaged entries if there were none.
  const hasForeign = plan.lists[rule.list].foreign > 0;
  const refused: { entry: Entry; message: string }[] = [];
  const leftOut: Entry[] = [];
  let synced = 0;
  let foreign = 0;
  for (const entry of rule.entries) {
    if (live.has(entry)) {
      synced += 1;
      if (hasForeign && !owned.has(entry)) foreign += 1;
      continue;
    }
    const refusal = plan.refusals.size === 0 ? undefined : plan.refusals.get(`${rule.list} +${entry}`);
    if (refusal !== undefined) refused.push({ entry, message: refusal.message });
    else if (overflow.size > 0 && overflow.has(entry)) leftOut.push(entry);
  }
  for (const entry of hasForeign ? expiredEntries(rule) : []) if (live.has(entry) && !owned.has(entry)) foreign += 1;
  const wanted = rule.entries.size;
  const pending = wanted - synced - refused.length - leftOut.length;
  return { desired: wanted, synced, pending, foreign, leftOut, refused };
}

/** `120/10000`, or `expired`. Rejected entries count as declared, unless they come from a feed. */
export function progressText(rule: CompiledRule, { synced, desired }: RuleProgress): string {
  return rule.expired ? "expired" : `${synced}/${desired + faultsIn(rule.rejected).length}`;
}

/** The managed entries of an expired rule that are still on the WAF, although no rule declares them. */
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
  const own = new Set(expiredEntries(rule));
  const left = [...own].filter((entry) => live.has(entry) && owned.has(entry) && !wanted.has(entry));
  if (own.size === 0 || rule.declared === undefined) return left;
  // Its entries may have been cut or merged.
  const isOfRule = remembering((owners) => readOwners(owners).some((owner) => ruleIdOfOwner(owner) === rule.id));
  for (const [entry, { owners }] of owned) {
    if (own.has(entry) || wanted.has(entry) || !live.has(entry)) continue;
    if (isOfRule(owners)) left.push(entry);
  }
  return left;
}

/** The former entries of an expired rule, without duplicates; empty for other rules. */
function expiredEntries({ expired, parts }: CompiledRule): readonly Entry[] {
  if (!expired) return [];
  return [...new Set(parts.flatMap(({ entries }) => [...entries.keys()]))];
}
