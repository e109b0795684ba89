// The plan of one instance: a pure function of the desired state, the observed lists, the inventory, and the time.
//
// Two lists, each:  desired − observed ──▶ additions, unless refused or contested
//                   observed − desired ──▶ removals of managed entries (Exclusive: of all), unless on hold or contested
//
// See list-draft.ts.
//
// The plan contains the inventory that must be recorded before its first operation. A plan of a synced instance is empty.
import { approvalAnnotation } from "../../model/approval-annotation.ts";
import type { ListName } from "../../model/declared.ts";
import { listNames } from "../../model/declared.ts";
import type { Entry } from "../../address/entry.ts";
import { type EntryOwners, lastDeclaredBy, unknownOwners } from "../../model/entry-owners.ts";
import { finished } from "../../model/finished.ts";
import type { Inventory, Refusal } from "../../model/inventory.ts";
import type { Adoption, Operation } from "../../model/operation.ts";
import { partOf } from "../../model/operation.ts";
import { nameKey } from "../../model/resource.ts";
import type { DesiredState } from "./desired.ts";
import { existingRulesOf } from "./desired.ts";
import type { ListSummary } from "./progress.ts";
import { summarizeLists } from "./progress.ts";
import { countsOverTime } from "./counted-removals.ts";
import { draftList, type ListDraft } from "./list-draft.ts";
import type { Broken } from "../lists/compiled-rule.ts";
import type { Contested } from "../lists/disputes.ts";
import { contestedNow } from "../lists/disputes.ts";
import type { Observed } from "../../model/observed.ts";
import type { AddEntry } from "../lists/order.ts";
import { orderAdds } from "../lists/order.ts";
import { orderForRoom } from "../lists/room.ts";
import type { RemoveEntry } from "../lists/urgent-removals.ts";
import { orderWrites, urgencyAmong } from "../lists/urgent-removals.ts";
import type { OriginPlan } from "../origins/origin-plan.ts";
import { originRemovals, planOrigins } from "../origins/origin-plan.ts";
import type { ListOwnership } from "../lists/ownership.ts";
import { asksToAdopt, ownEntries } from "../lists/ownership.ts";
import { refusalsByOperation, withoutEnded } from "../lists/refusals.ts";
import type { HeldRemovals, RemovalDecision } from "../lists/removal-guard.ts";
import { decideRemovals, hasEnded, isSameApproval, restoredInventory } from "../lists/removal-guard.ts";

export interface Plan {
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
  /** Refused writes that are not retried yet, by `operationKey`. */
  readonly refusals: ReadonlyMap<string, Refusal>;
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
  const refusals = refusalsByOperation(inventory.refusals, input.olderRefusals);
  const existingRules = existingRulesOf(desired.rules.map(({ rule }) => rule));
  const { restored, isAccepted } = checkVersion(input);
  const obstacle = desired.unconfirmed ?? restored;
  yield;
  const drafting = { ...input, contested, refusals, existingRules };
  const blocklist = draftList("blocklist", drafting);
  yield;
  const drafts = { blocklist, allowlist: draftList("allowlist", drafting) };
  yield;
  const originsInput = {
    wanted: desired.origins,
    owned: inventory.origins,
    observed,
    refusals,
    existing: new Set(desired.compiledOrigins.map(({ origin }) => nameKey(origin.meta))),
    nowMs,
  };
  const decision = decideRemovals(
    { ...removalRequests(drafts, input, existingRules), origins: originRemovals(originsInput) },
    desired.removalGuards,
    { windowMs: desired.instance.removalWindowMs, nowMs },
    desired.instance.meta.annotations[approvalAnnotation],
    inventory,
    obstacle,
  );
  yield;
  const origins = planOrigins({ ...originsInput, mayRemove: decision.mayRemove });
  const split = splitByPolicy(input, drafts, decision, origins);
  yield;
  const fitting = eachList((list) => withoutRoomFor(split.noRoom, list, drafts[list]));
  const next = nextInventory(input, fitting, { ...split, decision, origins, existingRules, isAccepted });
  yield;
  return {
    operations: split.operations,
    observedOnly: split.observedOnly,
    lists: summarizeLists(observed, next.inventory, split.operations, {
      held: decision.held,
      overflowOn: (list) => fitting[list].leftOut.size,
    }),
    leftOut: eachList((list) => fitting[list].leftOut),
    waiting: eachList((list) => drafts[list].waiting),
    adoptions: next.adoptions,
    held: decision.held,
    kept: keptIn(desired, inventory, drafts),
    refusals: new Map([...drafts.allowlist.refused, ...drafts.blocklist.refused]),
    contested,
    origins,
    inventory: next.inventory,
    inventoryChanged: next.change !== "None",
    onlyOwnersChanged: next.change === "Owners",
    lookAgainMs: next.lookAgainMs,
  };
}

function removalRequests(
  drafts: Readonly<Record<ListName, ListDraft>>,
  { desired, inventory }: PlanInput,
  existingRules: ReadonlySet<string>,
) {
  return eachList((list) => ({
    removals: drafts[list].removals,
    ownersOf: (entry: Entry) => inventory.entries[list].get(entry)?.owners ?? unknownOwners,
    weightOf: (entry: Entry) => drafts[list].weights.get(entry) ?? 1,
    size: drafts[list].size,
    sizeMax: drafts[list].sizeMax,
    endsByItself: (entry: Entry) =>
      hasEnded(entry, inventory.entries[list].get(entry)?.owners, existingRules, desired.ended),
    countsOverTime: countsOverTime(list, desired, inventory),
    before: inventory.allowed[list],
  }));
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
      const wanting = lists[list].get(entry) ?? [];
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

interface Split {
  readonly operations: readonly Operation[];
  readonly observedOnly: readonly Operation[];
  /** Additions that no removal of this plan makes room for: those that would are on hold, refused or contested. */
  readonly noRoom: readonly AddEntry[];
  readonly writesTo: (part: ListName | "origins") => boolean;
}

function splitByPolicy(
  input: PlanInput,
  drafts: Readonly<Record<ListName, ListDraft>>,
  decision: RemovalDecision,
  origins: OriginPlan,
): Split {
  const { desired, observed, inventory } = input;
  const { policies, suspend } = desired.instance;
  const writesTo = (part: ListName | "origins"): boolean =>
    policies[part] !== "Observe" && !suspend && desired.instanceFaults.length === 0;
  const removals = listNames.flatMap((list) => removalsOf(list, input, drafts[list], decision));
  const replaced = decision.mayRemove ? listNames.flatMap((list) => replacedOn(list, observed, drafts[list])) : [];
  const basis = { rules: desired.rules, owned: inventory.entries.blocklist };
  const adds = orderAdds([...drafts.allowlist.adds, ...drafts.blocklist.adds], urgencyAmong(removals, basis));
  const rooms = eachList((list) => ({
    shown: observed.lists[list].size,
    maxEntries: desired.instance.lists[list].maxEntries,
  }));
  const { writes, noRoom } = orderForRoom([...orderWrites(adds, removals, basis), ...replaced], rooms);
  const all: readonly Operation[] = [...origins.operations, ...writes];
  if (([...listNames, "origins"] as const).every(writesTo)) {
    return { operations: all, observedOnly: [], noRoom, writesTo };
  }
  const operations: Operation[] = [];
  const observedOnly: Operation[] = [];
  for (const operation of all) (writesTo(partOf(operation)) ? operations : observedOnly).push(operation);
  return { operations, observedOnly, noRoom, writesTo };
}

/** Additions without room are not recorded: they may never be sent. */
function withoutRoomFor(noRoom: readonly AddEntry[], list: ListName, draft: ListDraft): ListDraft {
  const entries = new Set(noRoom.flatMap((add) => (add.list === list ? [add.entry] : [])));
  if (entries.size === 0) return draft;
  const adds = draft.adds.filter(({ entry }) => !entries.has(entry));
  return { ...draft, adds, leftOut: new Set([...draft.leftOut, ...entries]) };
}

function removalsOf(
  list: ListName,
  { desired, observed, inventory }: PlanInput,
  { leftOut }: ListDraft,
  decision: RemovalDecision,
): readonly RemoveEntry[] {
  const isExclusive = desired.instance.policies[list] === "Exclusive";
  const reasonOf = (entry: Entry): string => {
    if (leftOut.has(entry)) return "the list has no room for it";
    const record = inventory.entries[list].get(entry);
    if (isExclusive || record === undefined) return "declared by no rule, and the policy is Exclusive";
    const how = record.manner === "Adopted" ? "adopted" : "added";
    const former = lastDeclaredBy(record.owners);
    return `${how} by wafsync, and no rule declares it any longer${former === "" ? "" : `; ${former}`}`;
  };
  return [...decision.allowed[list]]
    .toSorted()
    .flatMap((entry) => removalsOfEntry(list, entry, observed, reasonOf(entry)));
}

/** Removals of entries whose addresses aggregated networks have. */
function replacedOn(list: ListName, observed: Observed, { replaced }: ListDraft): readonly RemoveEntry[] {
  const inOrder = [...replaced].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return inOrder.flatMap(([entry, cover]) =>
    removalsOfEntry(list, entry, observed, `merged or split: ${cover} has its addresses`),
  );
}

function removalsOfEntry(list: ListName, entry: Entry, observed: Observed, reason: string): readonly RemoveEntry[] {
  const spellings = observed.lists[list].get(entry) ?? [];
  return spellings.map((spelling): RemoveEntry => ({ kind: "RemoveEntry", list, entry, spelling, reason }));
}

function adoptionsOf(list: ListName, adopted: readonly Entry[], desired: DesiredState): Adoption[] {
  return adopted.map((entry) => {
    const rules = (desired.lists[list].get(entry) ?? []).flatMap(({ id, rule }) =>
      asksToAdopt(rule.meta) ? [id] : [],
    );
    return { list, entry, rules };
  });
}

/** A user accepts an inventory that was restored from a backup: then its version continues behind the one in the status. */
function checkVersion({ desired, inventory, reportedVersion = 0 }: PlanInput) {
  const restored = restoredInventory(inventory.version, reportedVersion);
  const isAccepted = restored !== undefined && desired.instance.meta.annotations[approvalAnnotation] === restored.hash;
  return isAccepted ? { restored: undefined, isAccepted } : { restored, isAccepted };
}

interface Decided extends Pick<Split, "writesTo"> {
  readonly isAccepted: boolean;
  readonly decision: RemovalDecision;
  readonly origins: OriginPlan;
  readonly existingRules: ReadonlySet<string>;
}

function nextInventory(
  { desired, observed, inventory, nowMs, countsRemovals = false }: PlanInput,
  drafts: Readonly<Record<ListName, ListDraft>>,
  { writesTo, decision, origins, existingRules, isAccepted }: Decided,
): {
  readonly inventory: Inventory;
  readonly change: ListOwnership["change"];
  readonly adoptions: readonly Adoption[];
  readonly lookAgainMs: number | undefined;
} {
  const ownership = eachList((list): ListOwnership =>
    writesTo(list)
      ? ownEntries({
          owned: inventory.entries[list],
          wanted: drafts[list].whole,
          observed: observed.lists[list],
          adds: drafts[list].adds,
          exclusive: desired.instance.policies[list] === "Exclusive",
          existingRules,
          unknownRules: desired.unknownRules,
          mayForget: decision.mayRemove,
          readAtMs: observed.readAtMs[list],
          windowMs: desired.instance.consistencyWindowMs,
          nowMs,
        })
      : { owned: inventory.entries[list], change: "None", adopted: [], lookAgainMs: undefined },
  );
  const refusals = withoutEnded(inventory.refusals, nowMs);
  const originChange = writesTo("origins") ? origins.change : "None";
  const others =
    isAccepted || refusals !== inventory.refusals || !isSameApproval(decision.approval, inventory.approval);
  const allowed = eachList(
    (list) => decision.record[list][countsRemovals && writesTo(list) ? "confirmed" : "unconfirmed"],
  );
  const counts = listNames.some((list) => allowed[list] !== inventory.allowed[list]);
  const otherChange = others ? "Entries" : counts ? "Owners" : "None";
  const changes = [ownership.blocklist.change, ownership.allowlist.change, originChange, otherChange];
  const looks = listNames.flatMap((list) => ownership[list].lookAgainMs ?? []);
  const lookAgainMs = looks.length === 0 ? undefined : Math.min(...looks);
  if (changes.every((change) => change === "None")) return { inventory, change: "None", adoptions: [], lookAgainMs };
  return {
    inventory: {
      ...inventory,
      entries: eachList((list) => ownership[list].owned),
      origins: originChange === "None" ? inventory.origins : origins.owned,
      refusals,
      approval: decision.approval,
      approvals: decision.approvals,
      allowed,
    },
    change: changes.includes("Entries") ? "Entries" : "Owners",
    adoptions: listNames.flatMap((list) => adoptionsOf(list, ownership[list].adopted, desired)),
    lookAgainMs,
  };
}

function eachList<T>(make: (list: ListName) => T): Record<ListName, T> {
  return { blocklist: make("blocklist"), allowlist: make("allowlist") };
}
