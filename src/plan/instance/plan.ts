// The plan of one instance: a pure function of what is desired, what the WAF showed, what wafsync owns, and the time.
//
// Two lists, each:  desired − observed ──▶ additions, unless refused or contested
//                   observed − desired ──▶ removals, of what is ours (Exclusive: of all), unless held or contested
//
// The plan brings the inventory that must be recorded before its first operation. A plan of a synced instance is empty.
import type { ListName } from "../../model/declared.ts";
import { listNames } from "../../model/declared.ts";
import type { Entry } from "../../model/entry.ts";
import type { Inventory, OwnedEntry, Refusal } from "../../model/inventory.ts";
import type { Operation } from "../../model/operation.ts";
import { nameKey } from "../../model/resource.ts";
import type { CompiledRule } from "../lists/compiled-rule.ts";
import type { DesiredState } from "./desired.ts";
import type { Contested } from "../lists/disputes.ts";
import { contestedNow } from "../lists/disputes.ts";
import type { Observed } from "../../model/observed.ts";
import type { WantedAdd } from "../lists/order.ts";
import { orderAdds } from "../lists/order.ts";
import type { OriginPlan } from "../origins/origin-plan.ts";
import { planOrigins } from "../origins/origin-plan.ts";
import type { ListOwnership } from "../lists/ownership.ts";
import { ownEntries, removableEntries } from "../lists/ownership.ts";
import { refusalsByOperation, standingRefusal, versionOfRules, withoutEnded } from "../lists/refusals.ts";
import type { RemovalDecision } from "../lists/removal-guard.ts";
import { approvalAnnotation, decideRemovals } from "../lists/removal-guard.ts";

export interface ListSummary {
  /** Entries that the list shows. */
  readonly live: number;
  /** Of these, the ones that wafsync added. */
  readonly managed: number;
  readonly foreign: number;
  /** Writes of this plan that are still to be done. */
  readonly pending: number;
  /** Removals that wait for an approval or for an input that can't be read. */
  readonly held: number;
}

export interface Plan {
  /** In the order in which they are done. */
  readonly operations: readonly Operation[];
  /** What would be done, were it not for `Observe`. */
  readonly observedOnly: readonly Operation[];
  readonly lists: Readonly<Record<ListName, ListSummary>>;
  /** Removals that a person must approve; undefined when there are none. */
  readonly held: { readonly hash: string; readonly removals: RemovalDecision["held"] } | undefined;
  /** Removals that wait for broken inputs, by list. */
  readonly heldBySources: Readonly<Record<ListName, readonly Entry[]>>;
  /** Refused writes that still stand in the way, by `operationKey`. */
  readonly refusals: ReadonlyMap<string, Refusal>;
  readonly contested: readonly Contested[];
  readonly origins: OriginPlan;
  /** To be recorded before the first operation. */
  readonly inventory: Inventory;
  readonly inventoryChanged: boolean;
  /** Nothing but owners changed in it, which follows from what is declared and not from what the lists show. */
  readonly onlyOwnersChanged: boolean;
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
  /** Before the guards. */
  readonly removals: readonly Entry[];
  readonly retained: ReadonlySet<Entry>;
  readonly refused: ReadonlyMap<string, Refusal>;
}

export function planInstance(input: PlanInput): Plan {
  const { desired, observed, inventory, nowMs } = input;
  const contested = contestedNow(inventory.disputes, nowMs);
  const refusals = refusalsByOperation(inventory.refusals, input.olderRefusals);
  const existingRules = new Set(desired.rules.flatMap(({ id, rule }) => (rule.meta.deleting ? [] : [id])));
  const drafts = eachList((list) => draftList(list, input, contested, refusals, existingRules));
  const heldBySources = eachList((list) => (desired.removalsHeldBy[list].length > 0 ? drafts[list].removals : []));
  const decision = decideRemovals(
    eachList((list) => ({
      removals: drafts[list].removals,
      waits: heldBySources[list].length > 0,
      size: observed.lists[list].size + drafts[list].adds.length,
    })),
    desired.removalGuards,
    desired.instance.meta.annotations[approvalAnnotation],
    inventory.approval,
  );
  const origins = planOrigins({
    wanted: desired.origins,
    owned: inventory.origins,
    observed,
    refusals,
    existing: new Set(desired.compiledOrigins.map(({ origin }) => nameKey(origin.meta))),
    removalsHeld: listNames.some((list) => desired.removalsHeldBy[list].length > 0),
    nowMs,
  });
  const split = splitByPolicy(desired, observed, drafts, decision, origins);
  const next = nextInventory(input, drafts, split.writesTo, decision, origins);
  const held = decision.hash === undefined ? undefined : { hash: decision.hash, removals: decision.held };
  return {
    operations: split.operations,
    observedOnly: split.observedOnly,
    lists: summarizeLists(observed, next.inventory, split.operations, { held, heldBySources }),
    held,
    heldBySources,
    refusals: new Map([...drafts.allowlist.refused, ...drafts.blocklist.refused]),
    contested,
    origins,
    inventory: next.inventory,
    inventoryChanged: next.change !== "None",
    onlyOwnersChanged: next.change === "Owners",
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
  const adds: WantedAdd[] = [];
  for (const [entry, rules] of desired.lists[list]) {
    if (live.has(entry) || paused.has(entry)) continue;
    if (refusals.size > 0 && standing(`${list} +${entry}`, () => versionOfRules(rules))) continue;
    adds.push({ list, entry, rules });
  }
  const { removals, retained } = removableEntries({
    exclusive: desired.instance.policies[list] === "Exclusive",
    owned: inventory.entries[list],
    wanted: desired.lists[list],
    observed: live,
    existingRules,
  });
  const possible = removals.filter(
    (entry) => !paused.has(entry) && !(live.get(entry) ?? []).every((text) => standing(`${list} -${text}`, () => "")),
  );
  return { adds, removals: possible, retained, refused };
}

interface Split {
  readonly operations: readonly Operation[];
  readonly observedOnly: readonly Operation[];
  readonly writesTo: (part: ListName | "origins") => boolean;
}

function splitByPolicy(
  desired: DesiredState,
  observed: Observed,
  drafts: Readonly<Record<ListName, ListDraft>>,
  decision: RemovalDecision,
  origins: OriginPlan,
): Split {
  const { policies, suspend } = desired.instance;
  const writesTo = (part: ListName | "origins"): boolean =>
    policies[part] !== "Observe" && !suspend && desired.instanceFaults.length === 0;
  const all: Operation[] = [
    ...origins.operations,
    ...orderAdds([...drafts.allowlist.adds, ...drafts.blocklist.adds]),
    ...removalsOf("blocklist", desired, observed, decision),
    ...removalsOf("allowlist", desired, observed, decision),
  ];
  const operations: Operation[] = [];
  const observedOnly: Operation[] = [];
  for (const operation of all) (writesTo(partOf(operation)) ? operations : observedOnly).push(operation);
  return { operations, observedOnly, writesTo };
}

/** The part of the WAF that an operation changes. */
export function partOf(operation: Operation): ListName | "origins" {
  return operation.kind === "AddEntry" || operation.kind === "RemoveEntry" ? operation.list : "origins";
}

function removalsOf(
  list: ListName,
  desired: DesiredState,
  observed: Observed,
  decision: RemovalDecision,
): readonly Operation[] {
  const reason =
    desired.instance.policies[list] === "Exclusive"
      ? "declared by no rule, and the policy is Exclusive"
      : "added by wafsync, and no rule wants it any more";
  return [...decision.allowed[list]].toSorted().flatMap((entry) =>
    (observed.lists[list].get(entry) ?? []).map((spelling): Operation => ({
      kind: "RemoveEntry",
      list,
      entry,
      spelling,
      reason,
    })),
  );
}

function nextInventory(
  { desired, observed, inventory, nowMs }: PlanInput,
  drafts: Readonly<Record<ListName, ListDraft>>,
  writesTo: Split["writesTo"],
  decision: RemovalDecision,
  origins: OriginPlan,
): { readonly inventory: Inventory; readonly change: ListOwnership["change"] } {
  const ownership = eachList((list): ListOwnership =>
    writesTo(list)
      ? ownEntries({
          owned: inventory.entries[list],
          wanted: desired.lists[list],
          observed: observed.lists[list],
          adds: drafts[list].adds.map(({ entry }) => entry),
          retained: desired.removalsHeldBy[list].length > 0 ? new Set<Entry>() : drafts[list].retained,
          nowMs,
        })
      : { owned: inventory.entries[list], change: "None" },
  );
  const refusals = withoutEnded(inventory.refusals, nowMs);
  const originChange = writesTo("origins") ? origins.change : "None";
  const others = refusals !== inventory.refusals || decision.approval?.hash !== inventory.approval?.hash;
  const changes = [ownership.blocklist.change, ownership.allowlist.change, originChange, others ? "Entries" : "None"];
  if (changes.every((change) => change === "None")) return { inventory, change: "None" };
  return {
    inventory: {
      ...inventory,
      entries: eachList((list) => ownership[list].owned),
      origins: originChange === "None" ? inventory.origins : origins.owned,
      refusals,
      approval: decision.approval,
    },
    change: changes.includes("Entries") ? "Entries" : "Owners",
  };
}

/** The lists in numbers, with `operations` still to be done. */
export function summarizeLists(
  observed: Observed,
  inventory: Inventory,
  operations: readonly Operation[],
  { held, heldBySources }: Pick<Plan, "held" | "heldBySources">,
): Plan["lists"] {
  return eachList((list) => {
    const live = observed.lists[list];
    const managed = countOwned(live, inventory.entries[list]);
    return {
      live: live.size,
      managed,
      foreign: live.size - managed,
      pending: operations.filter((operation) => partOf(operation) === list).length,
      held: (held?.removals[list].length ?? 0) + heldBySources[list].length,
    };
  });
}

function countOwned(live: ReadonlyMap<Entry, unknown>, owned: ReadonlyMap<Entry, OwnedEntry>): number {
  let count = 0;
  for (const entry of owned.keys()) if (live.has(entry)) count += 1;
  return count;
}

/** How far one rule is, counted on what the WAF shows. */
export interface RuleProgress {
  readonly desired: number;
  readonly synced: number;
  readonly pending: number;
  /** Refused by the API; the entries that wafsync itself refuses are counted on the rule. */
  readonly refused: readonly { readonly entry: Entry; readonly message: string }[];
}

export function ruleProgress(rule: CompiledRule, observed: Observed, plan: Pick<Plan, "refusals">): RuleProgress {
  const live = observed.lists[rule.list];
  const refused: { entry: Entry; message: string }[] = [];
  let synced = 0;
  for (const entry of rule.entries) {
    if (live.has(entry)) synced += 1;
    else if (plan.refusals.size > 0) {
      const refusal = plan.refusals.get(`${rule.list} +${entry}`);
      if (refusal !== undefined) refused.push({ entry, message: refusal.message });
    }
  }
  return { desired: rule.entries.size, synced, pending: rule.entries.size - synced - refused.length, refused };
}

function eachList<T>(make: (list: ListName) => T): Record<ListName, T> {
  return { blocklist: make("blocklist"), allowlist: make("allowlist") };
}
