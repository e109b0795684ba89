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
import { type EntryOwners, unknownOwners } from "../model/rule-id.ts";
import type { Inventory, OwnedEntry, Refusal } from "../model/inventory.ts";
import type { Observed } from "../model/observed.ts";
import { type Adoption, type Operation, partOf } from "../model/operation.ts";
import { fullList } from "./decisions.ts";
import type { Broken } from "./compiled-rule.ts";
import { withoutEnded, asksToAdopt, type Records } from "./ownership.ts";
import { orderForRoom, orderWrites, type RemoveEntry } from "./order.ts";
import {
  decideRemovals,
  type HeldRemoval,
  type HeldRemovals,
  type Removal,
  type RemovalDecision,
  restoredInventory,
} from "./removal-guard.ts";
import { type OriginPlan, planOrigins } from "./origin-plan.ts";
import type { DesiredState } from "./desired.ts";
import { type Decided, draftList, type ListDraft, type OffOn } from "./list-draft.ts";
import { type ListSummary, rowsWith, summarizeLists } from "./progress.ts";

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
  /** Entries that the lists have no room for. */
  readonly leftOut: Readonly<Record<ListName, ReadonlySet<Entry>>>;
  readonly origins: OriginPlan;
  /** The inventory to record before the first operation: the given one if nothing changes. */
  readonly inventory: Inventory;
  /** At most owners change in it, which depends on the declarations and not on the lists. */
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

/** In slices, because a plan of many entries would block the event loop. */
export function* planInSlices(input: PlanInput): Generator<undefined, Plan> {
  const { desired, observed, inventory, nowMs } = input;
  const { meta, removalWindowMs: windowMs } = desired.instance;
  // Those in the inventory take precedence.
  const recorded = inventory.refusals.map((refusal) => [refusal.operation, refusal] as const);
  const refusals = new Map([...(input.olderRefusals ?? []), ...recorded]);
  const annotation = meta.annotations[approvalAnnotation];
  const restored = restoredInventory(inventory.version, input.reportedVersion ?? 0);
  // A user accepts an inventory that was restored from a backup: then its version continues behind the one in the status.
  const isAccepted = restored !== undefined && restored.hash === annotation;
  const obstacle = desired.unconfirmed ?? (isAccepted ? undefined : restored);
  const offOn = whyOff(desired);
  yield;
  const drafting = { ...input, refusals, offOn, mayForget: obstacle === undefined };
  const blocklist = draftList("blocklist", drafting);
  yield;
  const drafts = { blocklist, allowlist: draftList("allowlist", drafting) };
  yield;
  const origins = planOrigins(drafting);
  const counts = (list: ListName): boolean => input.countsRemovals === true && offOn(list) === undefined;
  const decision = decideRemovals(
    { ...drafts, origins: origins.removals },
    { guards: desired.removalGuards, windowMs, nowMs, obstacle, annotation, reviewed: input.approval, counts },
    inventory,
  );
  yield;
  const { writes, noRoom } = orderedWrites(input, drafts, decision);
  const { on: operations = [], off: observedOnly = [] } = Object.groupBy<"on" | "off", Operation>(
    [...origins.operations, ...writes],
    (operation) => (offOn(partOf(operation)) === undefined ? "on" : "off"),
  );
  yield;
  // Including those that no removal of this plan makes room for: the removals are on hold, refused or contested.
  const leftOut = eachList((list) => {
    const more = noRoom.filter((add) => add.list === list).map(({ entry }) => entry);
    return drafts[list].leftOut.union(new Set(more));
  });
  const outcomes = eachList((list) => outcomesOf(drafts[list], leftOut[list], decision.held?.removals[list] ?? []));
  const next = {
    entries: eachList((list) => recordList(inventory.entries[list], drafts[list].records, outcomes[list])),
    origins: offOn("origins") === undefined ? origins.owned : inventory.origins,
    refusals: withoutEnded(inventory.refusals, nowMs),
    approval: decision.approval,
    approvals: decision.approvals,
    allowed: eachList((list) => decision.lists[list].record),
  };
  yield;
  return {
    outcomes,
    operations,
    observedOnly,
    lists: summarizeLists(observed, next, operations, { outcomes, held: decision.held, leftOut }),
    leftOut,
    adoptions: adoptionsIn(outcomes),
    held: decision.held,
    kept: keptIn(desired, inventory, outcomes),
    origins,
    inventory: isAccepted || !isSameRecord(next, inventory) ? { ...inventory, ...next } : inventory,
    onlyOwnersChanged: !isAccepted && managesSame(outcomes, next, inventory),
    lookAgainMs: lookAgainMs(desired, outcomes, next, offOn),
  };
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
  outcomes: Plan["outcomes"],
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
    const values = rowsWith({ outcomes }, "SourceBroken", [part]).map(({ entry }) => entry);
    for (const value of values.toSorted()) kept.push({ part, value, broken, owners: unknownOwners });
  }
  for (const [value, broken] of rememberedOrigins) {
    kept.push({ part: "origins", value, broken, owners: origins.get(value)?.owners ?? unknownOwners });
  }
  return kept;
}

function orderedWrites(
  { desired, observed, inventory }: PlanInput,
  drafts: Readonly<Record<ListName, ListDraft>>,
  decision: RemovalDecision,
): ReturnType<typeof orderForRoom> {
  const removals = listNames.flatMap((list) => removalsOf(list, observed, decision.lists[list].allowed));
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

/** The record of one list. Additions without room are not recorded: they may never be sent. */
function recordList(
  owned: ReadonlyMap<Entry, OwnedEntry>,
  records: Records,
  rows: readonly Decided[],
): ReadonlyMap<Entry, OwnedEntry> {
  let next: Map<Entry, OwnedEntry> | undefined;
  for (const row of rows) {
    const after = records.after(row, row.outcome);
    if (after === row.recorded) continue;
    next ??= new Map(owned);
    if (after === undefined) next.delete(row.entry);
    else next.set(row.entry, after);
  }
  return next ?? owned;
}

type Recorded = Pick<Inventory, "entries" | "origins" | "refusals" | "approval" | "approvals" | "allowed">;

function isSameRecord(next: Recorded, before: Recorded): boolean {
  const isSame = (["origins", "refusals", "approval", "approvals"] as const).every((key) => next[key] === before[key]);
  return (
    isSame &&
    (["entries", "allowed"] as const).every((key) => listNames.every((list) => next[key][list] === before[key][list]))
  );
}

/** Whether the same is managed, and missing, although owners may have changed. */
function managesSame(outcomes: Plan["outcomes"], next: Recorded, before: Recorded): boolean {
  const isSame =
    next.approval === before.approval && next.refusals === before.refusals && next.origins.size === before.origins.size;
  if (!isSame) return false;
  for (const [host, { type, addedAtMs }] of next.origins) {
    const other = before.origins.get(host);
    if (other?.type !== type || other.addedAtMs !== addedAtMs) return false;
  }
  return listNames.every((list) =>
    outcomes[list].every(({ entry, recorded }) => {
      const after = next.entries[list].get(entry);
      if (after === undefined || recorded === undefined) return after === recorded;
      return after.sinceMs === recorded.sinceMs && after.missingSinceMs === recorded.missingSinceMs;
    }),
  );
}

/** When the second read that misses an entry may come. */
function lookAgainMs(
  { instance }: DesiredState,
  outcomes: Plan["outcomes"],
  { entries }: Recorded,
  offOn: OffOn,
): number | undefined {
  const written = listNames.filter((list) => offOn(list) === undefined);
  const missed = rowsWith({ outcomes }, "Missing", written).flatMap(
    ({ list, entry }) => entries[list].get(entry)?.missingSinceMs ?? [],
  );
  return missed.length === 0
    ? undefined
    : missed.reduce((least, atMs) => Math.min(least, atMs)) + instance.consistencyWindowMs;
}

function adoptionsIn(outcomes: Plan["outcomes"]): Adoption[] {
  return rowsWith({ outcomes }, "Adopt").map(({ list, entry, rules }) => ({
    list,
    entry,
    rules: rules.flatMap(({ id, rule }) => (asksToAdopt(rule.meta) ? [id] : [])),
  }));
}
