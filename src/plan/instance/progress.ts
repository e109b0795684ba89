// The numbers of a plan: the progress of each list and each rule.
import type { ListName } from "../../model/declared.ts";
import type { Entry } from "../../model/entry.ts";
import type { Inventory, Refusal } from "../../model/inventory.ts";
import type { Observed } from "../../model/observed.ts";
import type { Operation } from "../../model/operation.ts";
import { partOf } from "../../model/operation.ts";
import { type CompiledRule, faultsIn } from "../lists/compiled-rule.ts";
import type { HoldIndex } from "../lists/holds.ts";
import { missingKeys } from "../lists/missing-keys.ts";
import type { HeldRemovals } from "../lists/removal-guard.ts";
import type { DesiredState } from "./desired.ts";

export interface ListSummary {
  /** Entries that the list shows. */
  readonly live: number;
  /** Managed entries among them. */
  readonly managed: number;
  readonly foreign: number;
  /** Writes of this plan that are not done yet. */
  readonly pending: number;
  /** Removals on hold: they await an approval or an unreadable source. */
  readonly held: number;
  /** Declared entries that are not sent, because other entries cover their addresses. */
  readonly covered: number;
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
    readonly coveredOn: (list: ListName) => number;
    readonly overflowOn: (list: ListName) => number;
  },
): Readonly<Record<ListName, ListSummary>> {
  const of = (list: ListName): ListSummary => {
    const live = observed.lists[list];
    const foreign = missingKeys(live, inventory.entries[list]).size;
    return {
      live: live.size,
      managed: live.size - foreign,
      foreign,
      pending: countOf(list, operations),
      held: decided.held?.removals[list].length ?? 0,
      covered: decided.coveredOn(list),
      overflow: decided.overflowOn(list),
    };
  };
  return { blocklist: of("blocklist"), allowlist: of("allowlist") };
}

/** The number of declared entries that are not sent themselves. */
export function countCovered(
  { declared, compacted }: Pick<DesiredState, "declared" | "compacted">,
  list: ListName,
  target: ReadonlyMap<Entry, unknown>,
): number {
  const covered = new Set<Entry>();
  for (const [cover, entries] of compacted[list].standsFor) {
    if (!target.has(cover)) continue;
    for (const entry of entries) if (!target.has(entry) && declared[list].has(entry)) covered.add(entry);
  }
  return covered.size;
}

function countOf(list: ListName, operations: readonly Operation[]): number {
  let count = 0;
  for (const operation of operations) if (partOf(operation) === list) count += 1;
  return count;
}

/** The number of entries that the missing sources of each rule last declared, in addition to its current entries. By the rule's ID. */
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

/** The progress of one rule, based on the lists of the WAF. */
export interface RuleProgress {
  /** The number of its declared entries, including the last entries of its missing sources. */
  readonly desired: number;
  readonly synced: number;
  readonly pending: number;
  /** The entries that its missing sources last declared: they stay as they are on the WAF, and count as neither synced nor pending. */
  readonly awaited: number;
  /** Entries that were on the list before a rule declared them: they stay when no rule declares them. Also for expired rules. */
  readonly foreign: number;
  /** Synced entries that are not on the list themselves: wider or merged entries cover them. */
  readonly covered: number;
  /** The first covered entry, and the entry that covers it. */
  readonly coveredExample: { readonly entry: Entry; readonly cover: Entry } | undefined;
  /** Entries that the list has no room for, directly or through the entries that cover them. */
  readonly leftOut: readonly Entry[];
  /** Rejected by the API; entries that wafsync itself rejects are counted on the rule. */
  readonly refused: readonly { readonly entry: Entry; readonly message: string }[];
}

export function ruleProgress(
  rule: CompiledRule,
  observed: Observed,
  plan: {
    readonly refusals: ReadonlyMap<string, Refusal>;
    readonly awaited: ReadonlyMap<string, number>;
    readonly lists: Readonly<Record<ListName, ListSummary>>;
    readonly leftOut: Readonly<Record<ListName, ReadonlySet<Entry>>>;
  },
  { managed, compacted }: { readonly managed: Inventory["entries"]; readonly compacted: DesiredState["compacted"] },
): RuleProgress {
  const live = observed.lists[rule.list];
  const owned = managed[rule.list];
  const { coverOf, standsFor } = compacted[rule.list];
  const overflow = plan.leftOut[rule.list];
  // Only a new plan can find unmanaged entries if there were none.
  const hasForeign = plan.lists[rule.list].foreign > 0;
  const refused: { entry: Entry; message: string }[] = [];
  const leftOut: Entry[] = [];
  let synced = 0;
  let foreign = 0;
  let covered = 0;
  let coveredExample: RuleProgress["coveredExample"];
  for (const entry of rule.entries) {
    if (live.has(entry)) {
      synced += 1;
      if (hasForeign && !owned.has(entry)) foreign += 1;
      continue;
    }
    const cover = standsFor.size === 0 ? undefined : coverOf(rule, entry);
    if (cover !== undefined && live.has(cover)) {
      synced += 1;
      covered += 1;
      coveredExample ??= { entry, cover };
      continue;
    }
    const refusal = plan.refusals.size === 0 ? undefined : plan.refusals.get(`${rule.list} +${entry}`);
    if (refusal !== undefined) refused.push({ entry, message: refusal.message });
    else if (overflow.size > 0 && overflow.has(cover ?? entry)) leftOut.push(entry);
  }
  for (const entry of hasForeign ? expiredEntries(rule) : []) if (live.has(entry) && !owned.has(entry)) foreign += 1;
  const awaited = plan.awaited.get(rule.id) ?? 0;
  const wanted = rule.entries.size;
  const pending = wanted - synced - refused.length - leftOut.length;
  return { desired: wanted + awaited, synced, pending, awaited, foreign, covered, coveredExample, leftOut, refused };
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
  if (own.size === 0) return left;
  // Merged entries that contain entries declared by the rule.
  for (const [entry, { standsFor = [] }] of owned) {
    if (standsFor.length === 0 || own.has(entry) || wanted.has(entry) || !live.has(entry)) continue;
    if (standsFor.some((part) => own.has(part))) left.push(entry);
  }
  return left;
}

/** The former entries of an expired rule, without duplicates; empty for other rules. */
function expiredEntries({ expired, parts }: CompiledRule): readonly Entry[] {
  if (!expired) return [];
  return [...new Set(parts.flatMap(({ entries }) => [...entries.keys()]))];
}
