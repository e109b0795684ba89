// The plan of one instance: a pure function of the desired state, the observed lists, the inventory, and the time.
//
// Two lists, each:  desired − observed ──▶ additions, unless refused or contested
//                   observed − desired ──▶ removals of managed entries (Exclusive: of all), unless on hold or contested
//
// See list-draft.ts.
//
// The plan contains the inventory that must be recorded before its first operation. A plan of a synced instance is empty.
import type { Entry } from "../address/entry.ts";
import { approvalAnnotation } from "../model/resource.ts";
import { eachList, type ListName, listNames } from "../model/declared.ts";
import { type EntryOwners, unknownOwners } from "../model/entry-owners.ts";
import { finished } from "../model/finished.ts";
import type { Inventory, OwnedEntry, Refusal } from "../model/inventory.ts";
import type { Observed } from "../model/observed.ts";
import { type Adoption, type Operation, partOf } from "../model/operation.ts";
import { fullList } from "./decisions.ts";
import type { Broken } from "./compiled-rule.ts";
import { type Contested, contestedNow } from "./disputes.ts";
import { withoutEnded } from "./refusals.ts";
import { orderWrites, type RemoveEntry } from "./order.ts";
import { asksToAdopt, type Records } from "./ownership.ts";
import {
  type HeldRemoval,
  type HeldRemovals,
  type Removal,
  type RemovalDecision,
  decideRemovals,
  isSameApproval,
  type Obstacle,
  restoredInventory,
} from "./removal-guard.ts";
import { type OrderedForRoom, orderForRoom } from "./room.ts";
import { type OriginPlan, planOrigins } from "./origin-plan.ts";
import type { DesiredState } from "./desired.ts";
import { type Decided, draftList, type ListDraft, type OffOn } from "./list-draft.ts";
import { type ListSummary, summarizeLists } from "./progress.ts";

export interface Plan {
  /** What was decided about each row whose columns disagree. */
  readonly outcomes: Readonly<Record<ListName, readonly Decided[]>>;
  /** In the order of execution. */
  readonly operations: readonly Operation[];
  /** The operations that `Observe` prevents. */
  readonly observedOnly: readonly Operation[];
  readonly lists: Readonly<Record<ListName, ListSummary>>;
  /** Entries that become managed without a call, because they are already on the list. */
  readonly adoptions: readonly Adoption[];
  /** All removals on hold, with the approving hash; undefined if there are none. */
  readonly held: HeldRemovals | undefined;
  /** What stays only because something can't be read. */
  readonly kept: readonly Kept[];
  readonly contested: readonly Contested[];
  /** Entries that the lists have no room for. */
  readonly leftOut: Readonly<Record<ListName, ReadonlySet<Entry>>>;
  /** Removals that wait until the WAF accepts entries that share addresses with them. */
  readonly waiting: Readonly<Record<ListName, readonly Entry[]>>;
  readonly origins: OriginPlan;
  /** The inventory to record before the first operation. */
  readonly inventory: Inventory;
  readonly inventoryChanged: boolean;
  /** Only owners changed, which depends on the declarations and not on the lists. */
  readonly onlyOwnersChanged: boolean;
  /** When to read the lists again to drop missing entries from the record; undefined if there are none. */
  readonly lookAgainMs: number | undefined;
}

export interface PlanInput {
  readonly desired: DesiredState;
  readonly observed: Observed;
  readonly inventory: Inventory;
  /** Refusals that the inventory has no room for, by `operationKey`. */
  readonly olderRefusals?: ReadonlyMap<string, Refusal>;
  /** The hash of removals on hold that a user has approved otherwise than by the annotation of the instance. */
  readonly approval?: string | undefined;
  /** The version of the inventory that the status describes: an older one was restored from a backup. */
  readonly reportedVersion?: number;
  /** Whether its removals count for `guards.window` from now on: the declared state was confirmed, so they will be executed. */
  readonly countsRemovals?: boolean;
  readonly nowMs: number;
}

export function planInstance(input: PlanInput): Plan {
  return finished(planInSlices(input));
}

/** The same in slices, because a plan of many entries would block the event loop. */
export function* planInSlices(input: PlanInput): Generator<undefined, Plan> {
  const { desired, observed, inventory, nowMs } = input;
  const contested = contestedNow(inventory.disputes, nowMs);
  // Those in the inventory take precedence.
  const recorded = inventory.refusals.map((refusal) => [refusal.operation, refusal] as const);
  const refusals = new Map([...(input.olderRefusals ?? []), ...recorded]);
  const restored = restoredInventory(inventory.version, input.reportedVersion ?? 0);
  // A user accepts an inventory that was restored from a backup: then its version continues behind the one in the status.
  const isAccepted = restored !== undefined && restored.hash === desired.instance.meta.annotations[approvalAnnotation];
  const obstacle = desired.unconfirmed ?? (isAccepted ? undefined : restored);
  const offOn = whyOff(desired);
  yield;
  const drafting = { ...input, contested, refusals, offOn, mayForget: obstacle === undefined };
  const blocklist = draftList("blocklist", drafting);
  yield;
  const drafts = { blocklist, allowlist: draftList("allowlist", drafting) };
  yield;
  const origins = planOrigins(drafting);
  const decision = decisionOf(input, { ...drafts, origins: origins.removals }, obstacle);
  yield;
  const { writes, noRoom } = orderedWrites(input, drafts, decision);
  const { on: operations = [], off: observedOnly = [] } = Object.groupBy<"on" | "off", Operation>(
    [...origins.operations, ...writes],
    (operation) => (offOn(partOf(operation)) === undefined ? "on" : "off"),
  );
  yield;
  const leftOut = eachList((list) => {
    // Including those that no removal of this plan makes room for: the removals are on hold, refused or contested.
    const more = noRoom.flatMap((add) => (add.list === list ? [add.entry] : []));
    return more.length === 0 ? drafts[list].leftOut : new Set([...drafts[list].leftOut, ...more]);
  });
  const outcomes = eachList((list) => outcomesOf(drafts[list], leftOut[list], decision.held?.removals[list] ?? []));
  const next = nextInventory(input, drafts, { offOn, outcomes, decision, origins, isAccepted });
  yield;
  return {
    outcomes,
    operations,
    observedOnly,
    lists: summarizeLists(observed, next.inventory, operations, { outcomes, held: decision.held, leftOut }),
    leftOut,
    waiting: eachList((list) => drafts[list].waiting),
    adoptions: next.adoptions,
    held: decision.held,
    kept: keptIn(desired, inventory, drafts),
    contested,
    origins,
    inventory: next.inventory,
    inventoryChanged: next.change !== "None",
    onlyOwnersChanged: next.change === "Owners",
    lookAgainMs: next.lookAgainMs,
  };
}

/** What the annotation of the instance approves is recorded first, because each approval changes the hash of what is left. */
function decisionOf(
  { desired, inventory, approval, nowMs }: PlanInput,
  requests: Parameters<typeof decideRemovals>[0],
  obstacle: Obstacle | undefined,
): RemovalDecision {
  const { meta, removalWindowMs: windowMs } = desired.instance;
  const decide = (given: string | undefined): RemovalDecision =>
    decideRemovals(requests, desired.removalGuards, { windowMs, nowMs }, given, inventory, obstacle);
  const byAnnotation = decide(meta.annotations[approvalAnnotation]);
  const isReviewed = byAnnotation.approvals === inventory.approvals && byAnnotation.held?.hash === approval;
  return isReviewed && approval !== undefined ? decide(approval) : byAnnotation;
}

/** An entry or an origin that stays only because something can't be read. */
export interface Kept {
  readonly part: ListName | "origins";
  readonly value: string;
  readonly broken: Broken;
  readonly owners: EntryOwners;
}

function keptIn(
  { rules, standIns, lists, rememberedOrigins, unread }: DesiredState,
  { entries, origins }: Inventory,
  drafts: Readonly<Record<ListName, ListDraft>>,
): Kept[] {
  const kept: Kept[] = [];
  for (const { list, remembered } of [...standIns, ...rules]) {
    for (const [entry, broken] of remembered) {
      const wanting = lists[list].get(entry)?.rules ?? [];
      // Counted once, for the first of the rules.
      if (wanting[0]?.remembered !== remembered || !wanting.every((rule) => rule.remembered.has(entry))) continue;
      kept.push({ part: list, value: entry, broken, owners: entries[list].get(entry)?.owners ?? unknownOwners });
    }
  }
  for (const part of listNames) {
    const broken = unread[part];
    if (broken === undefined) continue;
    for (const value of drafts[part].kept) kept.push({ part, value, broken, owners: unknownOwners });
  }
  for (const [value, broken] of rememberedOrigins) {
    kept.push({ part: "origins", value, broken, owners: origins.get(value)?.owners ?? unknownOwners });
  }
  return kept;
}

function orderedWrites(
  { desired, observed, inventory }: PlanInput,
  drafts: Readonly<Record<ListName, ListDraft>>,
  { allowed }: RemovalDecision,
): OrderedForRoom {
  const removals = listNames.flatMap((list) => removalsOf(list, observed, allowed[list]));
  const replaced = listNames.flatMap((list) => removalsOf(list, observed, drafts[list].replaced));
  const adds = [...drafts.allowlist.adds, ...drafts.blocklist.adds];
  const ordered = orderWrites(adds, removals, desired.rules, inventory.entries.blocklist);
  const shown = eachList((list) => observed.lists[list].size);
  return orderForRoom([...ordered, ...replaced], shown, desired.instance.lists);
}

/** Why a part of the WAF is not written to; undefined if it is. */
function whyOff({ instance: { policies, suspend }, instanceFaults }: DesiredState): OffOn {
  const ofAll = suspend ? "spec.suspend is true" : instanceFaults[0];
  return (part) => ofAll ?? (policies[part] === "Observe" ? "the policy is Observe" : undefined);
}

/** With what only the whole list decides. */
function outcomesOf(
  { rows }: ListDraft,
  leftOut: ReadonlySet<Entry>,
  held: readonly HeldRemoval[],
): readonly Decided[] {
  if (leftOut.size === 0 && held.length === 0) return rows;
  const holding = new Set(held.map(({ entry }) => entry));
  return rows.map((row) => {
    if (holding.has(row.entry)) return { ...row, outcome: { kind: "Held", reason: "too much would be removed" } };
    const hasNoRoom = row.outcome.kind === "Add" && leftOut.has(row.entry);
    return hasNoRoom ? { ...row, outcome: { kind: "NoRoom", reason: fullList } } : row;
  });
}

function removalsOf(
  list: ListName,
  observed: Observed,
  removals: readonly Pick<Removal, "entry" | "reason">[],
): readonly RemoveEntry[] {
  const inOrder = removals.toSorted((a, b) => (a.entry < b.entry ? -1 : 1));
  return inOrder.flatMap(({ entry, reason }) => {
    const spellings = observed.lists[list].get(entry) ?? [];
    return spellings.map((spelling): RemoveEntry => ({ kind: "RemoveEntry", list, entry, spelling, reason }));
  });
}

interface Basis {
  readonly offOn: OffOn;
  readonly outcomes: Plan["outcomes"];
  readonly isAccepted: boolean;
  readonly decision: RemovalDecision;
  readonly origins: OriginPlan;
}

function nextInventory(
  { desired, inventory, nowMs, countsRemovals = false }: PlanInput,
  drafts: Readonly<Record<ListName, ListDraft>>,
  { offOn, outcomes, decision, origins, isAccepted }: Basis,
): {
  readonly inventory: Inventory;
  readonly change: RecordedList["change"];
  readonly adoptions: readonly Adoption[];
  readonly lookAgainMs: number | undefined;
} {
  const recorded = eachList((list) => recordList(inventory.entries[list], drafts[list].records, outcomes[list]));
  const refusals = withoutEnded(inventory.refusals, nowMs);
  const originChange = offOn("origins") === undefined ? origins.change : "None";
  const others =
    isAccepted || refusals !== inventory.refusals || !isSameApproval(decision.approval, inventory.approval);
  const allowed = eachList(
    (list) => decision.record[list][countsRemovals && offOn(list) === undefined ? "confirmed" : "unconfirmed"],
  );
  const counts = listNames.some((list) => allowed[list] !== inventory.allowed[list]);
  const otherChange = others ? "Entries" : counts ? "Owners" : "None";
  const changes = [recorded.blocklist.change, recorded.allowlist.change, originChange, otherChange];
  const missed = listNames.flatMap((list) => (offOn(list) === undefined ? (recorded[list].missedMs ?? []) : []));
  const lookAgainMs = missed.length === 0 ? undefined : Math.min(...missed) + desired.instance.consistencyWindowMs;
  if (changes.every((change) => change === "None")) return { inventory, change: "None", adoptions: [], lookAgainMs };
  return {
    inventory: {
      ...inventory,
      entries: eachList((list) => recorded[list].owned),
      origins: originChange === "None" ? inventory.origins : origins.owned,
      refusals,
      approval: decision.approval,
      approvals: decision.approvals,
      allowed,
    },
    change: changes.includes("Entries") ? "Entries" : "Owners",
    adoptions: listNames.flatMap((list) => adoptionsIn(drafts[list])),
    lookAgainMs,
  };
}

interface RecordedList {
  /** The content of the inventory before the first operation of this plan. */
  readonly owned: ReadonlyMap<Entry, OwnedEntry>;
  /** `Owners`: the same entries are managed, but their owners have changed. */
  readonly change: "None" | "Owners" | "Entries";
  /** When the first of the missing entries was missing. */
  readonly missedMs: number | undefined;
}

/** Additions without room are not recorded: they may never be sent. */
function recordList(owned: ReadonlyMap<Entry, OwnedEntry>, records: Records, rows: readonly Decided[]): RecordedList {
  let next: Map<Entry, OwnedEntry> | undefined;
  let change: RecordedList["change"] = "None";
  let missedMs: number | undefined;
  for (const row of rows) {
    const { entry, recorded: before } = row;
    const after = records.after(row, row.outcome);
    if (after?.missingSinceMs !== undefined)
      missedMs = Math.min(missedMs ?? after.missingSinceMs, after.missingSinceMs);
    if (after === before) continue;
    next ??= new Map(owned);
    if (after === undefined) next.delete(entry);
    else next.set(entry, after);
    const isSame = before !== undefined && after !== undefined && before.missingSinceMs === after.missingSinceMs;
    if (!isSame || before.sinceMs !== after.sinceMs) change = "Entries";
    else if (change === "None") change = "Owners";
  }
  return { owned: next ?? owned, change, missedMs };
}

function adoptionsIn({ rows }: ListDraft): Adoption[] {
  return rows.flatMap(({ list, entry, rules, outcome }) => {
    if (outcome.kind !== "Adopt") return [];
    return [{ list, entry, rules: rules.flatMap(({ id, rule }) => (asksToAdopt(rule.meta) ? [id] : [])) }];
  });
}
