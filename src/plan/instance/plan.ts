// The plan of one instance: a pure function of what is desired, what the WAF showed, what wafsync owns, and the time.
//
// Two lists, each:  desired − observed ──▶ additions, unless refused or contested
//                   observed − desired ──▶ removals, of what is ours (Exclusive: of all), unless held or contested
//
// The plan brings the inventory that must be recorded before its first operation. A plan of a synced instance is empty.
import { approvalAnnotation } from "../../model/approval-annotation.ts";
import type { ListName } from "../../model/declared.ts";
import { listNames } from "../../model/declared.ts";
import type { Entry } from "../../model/entry.ts";
import { unknownOwners } from "../../model/entry-owners.ts";
import type { Inventory, OwnedOrigin, Refusal } from "../../model/inventory.ts";
import type { Adoption, Operation } from "../../model/operation.ts";
import { partOf } from "../../model/operation.ts";
import { nameKey } from "../../model/resource.ts";
import type { DesiredState } from "./desired.ts";
import { existingRulesOf } from "./desired.ts";
import type { ListSummary } from "./progress.ts";
import { countAwaited, summarizeLists } from "./progress.ts";
import type { Contested } from "../lists/disputes.ts";
import { contestedNow } from "../lists/disputes.ts";
import type { Observed, ObservedEntries } from "../../model/observed.ts";
import type { WantedAdd } from "../lists/order.ts";
import { orderAdds } from "../lists/order.ts";
import type { RemoveEntry } from "../lists/urgent-removals.ts";
import { orderWrites } from "../lists/urgent-removals.ts";
import type { OriginPlan } from "../origins/origin-plan.ts";
import { originRemovals, planOrigins } from "../origins/origin-plan.ts";
import type { ListOwnership } from "../lists/ownership.ts";
import { asksToAdopt, ownEntries, removableEntries } from "../lists/ownership.ts";
import { refusalsByOperation, standingRefusal, versionOfRules, withoutEnded } from "../lists/refusals.ts";
import { HoldIndex } from "../lists/holds.ts";
import { missingKeys } from "../lists/missing-keys.ts";
import { keysOf, type WantedEntries } from "../lists/wanted-entries.ts";
import type { HeldRemovals, RemovalDecision } from "../lists/removal-guard.ts";
import { decideRemovals } from "../lists/removal-guard.ts";

export interface Plan {
  /** In the order in which they are done. */
  readonly operations: readonly Operation[];
  /** What would be done, were it not for `Observe`. */
  readonly observedOnly: readonly Operation[];
  readonly lists: Readonly<Record<ListName, ListSummary>>;
  /** Entries that become managed without a call, because they are already on the list. */
  readonly adoptions: readonly Adoption[];
  /** All removals on hold, with their holds and the approving hash; undefined if there are none. */
  readonly held: HeldRemovals | undefined;
  /** The number of entries that the missing sources of each rule last declared, by the rule's ID. */
  readonly awaited: ReadonlyMap<string, number>;
  /** Refused writes that still stand in the way, by `operationKey`. */
  readonly refusals: ReadonlyMap<string, Refusal>;
  readonly contested: readonly Contested[];
  readonly origins: OriginPlan;
  /** To be recorded before the first operation. */
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
  readonly nowMs: number;
}

interface ListDraft {
  readonly adds: readonly WantedAdd[];
  /** The number of declared entries that are not on the list, whether or not they can be added now. */
  readonly missing: number;
  /** Before the guards. */
  readonly removals: readonly Entry[];
  readonly retained: readonly Entry[];
  readonly refused: ReadonlyMap<string, Refusal>;
}

export function planInstance(input: PlanInput): Plan {
  const { desired, observed, inventory, nowMs } = input;
  const contested = contestedNow(inventory.disputes, nowMs);
  const refusals = refusalsByOperation(inventory.refusals, input.olderRefusals);
  const existingRules = existingRulesOf(desired.rules.map(({ rule }) => rule));
  const drafts = eachList((list) => draftList(list, input, contested, refusals, existingRules));
  const holds = new HoldIndex(desired, inventory, existingRules);
  const originsInput = {
    wanted: desired.origins,
    owned: inventory.origins,
    observed,
    refusals,
    existing: new Set(desired.compiledOrigins.map(({ origin }) => nameKey(origin.meta))),
    holdsOn: (record: OwnedOrigin) => holds.onOrigin(record),
    nowMs,
  };
  const requests = eachList((list) => ({
    removals: drafts[list].removals,
    holdsOn: (entry: Entry) => holds.on(list, inventory.entries[list].get(entry)),
    ownersOf: (entry: Entry) => inventory.entries[list].get(entry)?.owners ?? unknownOwners,
    size: observed.lists[list].size + drafts[list].adds.length,
    sizeMax: observed.lists[list].size + drafts[list].missing,
  }));
  const decision = decideRemovals(
    { ...requests, origins: originRemovals(originsInput) },
    desired.removalGuards,
    desired.instance.meta.annotations[approvalAnnotation],
    inventory,
  );
  const origins = planOrigins({ ...originsInput, allowed: decision.allowedOrigins });
  const split = splitByPolicy(input, drafts, decision, origins);
  const next = nextInventory(input, drafts, { ...split, decision, origins, holds });
  return {
    operations: split.operations,
    observedOnly: split.observedOnly,
    lists: summarizeLists(observed, next.inventory, split.operations, decision.held),
    adoptions: next.adoptions,
    held: decision.held,
    awaited: countAwaited({ rules: desired.rules, lists: next.inventory.entries }, holds),
    refusals: new Map([...drafts.allowlist.refused, ...drafts.blocklist.refused]),
    contested,
    origins,
    inventory: next.inventory,
    inventoryChanged: next.change !== "None",
    onlyOwnersChanged: next.change === "Owners",
    lookAgainMs: next.lookAgainMs,
  };
}

function draftList(
  list: ListName,
  { desired, observed, inventory, nowMs }: PlanInput,
  contested: readonly Contested[],
  refusals: ReadonlyMap<string, Refusal>,
  existingRules: ReadonlySet<string>,
): ListDraft {
  const paused = new Set(contested.flatMap((item) => (item.list === list ? [item.entry] : [])));
  const refused = new Map<string, Refusal>();
  const standing = (operation: string, wantedBy: () => string): boolean => {
    const refusal = standingRefusal(refusals, operation, wantedBy, nowMs);
    if (refusal !== undefined) refused.set(operation, refusal);
    return refusal !== undefined;
  };
  const live = observed.lists[list];
  const wanted = desired.lists[list];
  const missing = missingKeys(keysOf(wanted), live);
  const adds: WantedAdd[] = [];
  for (const entry of missing) {
    const rules = wanted.get(entry);
    if (rules === undefined || paused.has(entry)) continue;
    if (refusals.size > 0 && standing(`${list} +${entry}`, () => versionOfRules(rules))) continue;
    adds.push({ list, entry, rules });
  }
  const { removals, retained } = removableEntries({
    exclusive: desired.instance.policies[list] === "Exclusive",
    owned: inventory.entries[list],
    undeclared: undeclaredOn(live, wanted, missing.size),
    existingRules,
  });
  const possible = removals.filter(
    (entry) => !paused.has(entry) && !(live.get(entry) ?? []).every((text) => standing(`${list} -${text}`, () => "")),
  );
  return { adds, missing: missing.size, removals: possible, retained, refused };
}

/** In the order of the list, which the status shows. Usually a list shows nothing but what is declared. */
function undeclaredOn(live: ObservedEntries, wanted: WantedEntries, missing: number): Iterable<Entry> {
  if (live.size === wanted.size - missing) return [];
  const undeclared = missingKeys(live, keysOf(wanted));
  return undeclared.size === 1 ? undeclared : [...live.keys()].filter((entry) => undeclared.has(entry));
}

interface Split {
  readonly operations: readonly Operation[];
  readonly observedOnly: readonly Operation[];
  readonly writesTo: (part: ListName | "origins") => boolean;
}

function splitByPolicy(
  { desired, observed, inventory }: PlanInput,
  drafts: Readonly<Record<ListName, ListDraft>>,
  decision: RemovalDecision,
  origins: OriginPlan,
): Split {
  const { policies, suspend } = desired.instance;
  const writesTo = (part: ListName | "origins"): boolean =>
    policies[part] !== "Observe" && !suspend && desired.instanceFaults.length === 0;
  const all: readonly Operation[] = [
    ...origins.operations,
    ...orderWrites(
      orderAdds([...drafts.allowlist.adds, ...drafts.blocklist.adds]),
      [
        ...removalsOf("blocklist", desired, observed, decision),
        ...removalsOf("allowlist", desired, observed, decision),
      ],
      { rules: desired.rules, owned: inventory.entries.blocklist },
    ),
  ];
  if (all.every((operation) => writesTo(partOf(operation)))) return { operations: all, observedOnly: [], writesTo };
  const operations: Operation[] = [];
  const observedOnly: Operation[] = [];
  for (const operation of all) (writesTo(partOf(operation)) ? operations : observedOnly).push(operation);
  return { operations, observedOnly, writesTo };
}

function removalsOf(
  list: ListName,
  desired: DesiredState,
  observed: Observed,
  decision: RemovalDecision,
): readonly RemoveEntry[] {
  const reason =
    desired.instance.policies[list] === "Exclusive"
      ? "declared by no rule, and the policy is Exclusive"
      : "added by wafsync, and no rule declares it any longer";
  return [...decision.allowed[list]].toSorted().flatMap((entry) =>
    (observed.lists[list].get(entry) ?? []).map((spelling): RemoveEntry => ({
      kind: "RemoveEntry",
      list,
      entry,
      spelling,
      reason,
    })),
  );
}

function adoptionsOf(list: ListName, adopted: readonly Entry[], desired: DesiredState): Adoption[] {
  return adopted.map((entry) => {
    const rules = (desired.lists[list].get(entry) ?? []).flatMap(({ id, rule }) =>
      asksToAdopt(rule.meta) ? [id] : [],
    );
    return { list, entry, rules };
  });
}

interface Decided extends Pick<Split, "writesTo"> {
  readonly decision: RemovalDecision;
  readonly origins: OriginPlan;
  readonly holds: HoldIndex;
}

function nextInventory(
  { desired, observed, inventory, nowMs }: PlanInput,
  drafts: Readonly<Record<ListName, ListDraft>>,
  { writesTo, decision, origins, holds }: Decided,
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
          wanted: desired.lists[list],
          observed: observed.lists[list],
          adds: drafts[list].adds,
          // The rule that retains an entry may only be out of sight.
          retained: drafts[list].retained.filter(
            (entry) => holds.on(list, inventory.entries[list].get(entry)).length === 0,
          ),
          unreadable: (owners) => holds.unreadable(list, owners),
          readAtMs: observed.readAtMs[list],
          windowMs: desired.instance.consistencyWindowMs,
          nowMs,
        })
      : { owned: inventory.entries[list], change: "None", adopted: [], lookAgainMs: undefined },
  );
  const refusals = withoutEnded(inventory.refusals, nowMs);
  const originChange = writesTo("origins") ? origins.change : "None";
  const others = refusals !== inventory.refusals || decision.approval?.hash !== inventory.approval?.hash;
  const changes = [ownership.blocklist.change, ownership.allowlist.change, originChange, others ? "Entries" : "None"];
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
    },
    change: changes.includes("Entries") ? "Entries" : "Owners",
    adoptions: listNames.flatMap((list) => adoptionsOf(list, ownership[list].adopted, desired)),
    lookAgainMs,
  };
}

function eachList<T>(make: (list: ListName) => T): Record<ListName, T> {
  return { blocklist: make("blocklist"), allowlist: make("allowlist") };
}
