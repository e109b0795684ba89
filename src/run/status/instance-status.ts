// The status of a WafInstance, from the facts of a run.
import type { Condition } from "../../kinds/conditions.ts";
import { formatTime, removeCondition, setCondition } from "../../kinds/conditions.ts";
import { heldGroupsMax } from "../../kinds/waf-instance.ts";
import type { WafInstanceStatus } from "../../kinds/waf-instance.ts";
import type { ListName } from "../../model/declared.ts";
import { operationKey } from "../../model/operation.ts";
import { asSentence, counted, inThousands } from "../../model/sentence.ts";
import type { AcceptedFinding, SyncedFinding } from "./conditions.ts";
import { accepted, conditionsOf } from "./conditions.ts";
import type { ListSummary } from "../../decide/progress.ts";
import { isFull } from "../../decide/disputes.ts";
import { limitSuggestion, overflowOfInstance, waitingRemovals } from "./capacity-message.ts";
import { heldGroups } from "./held-message.ts";
import { heldMessage, keptMessage } from "./held-message.ts";
import { paceInWords, troubleOf } from "./trouble.ts";
import type { RunFacts } from "../facts.ts";

const examplesMax = 5;
const planExamplesMax = 10;

/** Returns the complete next status. Keeps former values for everything that the run could not determine. */
export function instanceStatus(
  before: Partial<WafInstanceStatus>,
  facts: RunFacts,
  lastSyncMs: number | undefined,
): Partial<WafInstanceStatus> {
  const { meta } = facts.gathered.instance;
  const synced = assessInstance(facts, lastSyncMs);
  let conditions = conditionsOf(
    before.conditions ?? [],
    { accepted: acceptInstance(facts), synced },
    meta.generation,
    facts.nowMs,
  );
  conditions = withSourceBroken(withRemovalsHeld(conditions, facts), facts);
  return {
    ...before,
    observedGeneration: meta.generation,
    conditions: [...conditions],
    attachedRules: facts.desired.rules.filter(({ isAttached, rule }) => isAttached && rule.meta.kind === "WafIpRule")
      .length,
    attachedOrigins: facts.desired.compiledOrigins.filter(({ isAttached }) => isAttached).length,
    ...(lastSyncMs === undefined ? {} : { lastSyncTime: formatTime(lastSyncMs) }),
    ...observedPart(before, facts),
  };
}

function observedPart(before: Partial<WafInstanceStatus>, facts: RunFacts): Partial<WafInstanceStatus> {
  const { observed, plan, lists, inventory } = facts;
  if (observed === undefined || plan === undefined || lists === undefined) return {};
  const domain = inventory?.domain ?? before.domain;
  const examples = plan.observedOnly.slice(0, planExamplesMax).map(operationKey);
  const removals = plan.observedOnly.filter(({ kind }) => kind === "RemoveEntry" || kind === "RemoveOrigin").length;
  return {
    ...(domain === undefined ? {} : { domain }),
    primaryOrigin: observed.primaryOrigin,
    blocklist: listCounts(lists.blocklist),
    allowlist: listCounts(lists.allowlist),
    inventoryVersion: Math.max(before.inventoryVersion ?? 0, inventory?.version ?? 0),
    heldPlan: plan.held?.hash,
    removalsOnHold: plan.held === undefined ? undefined : heldGroups(plan.held).slice(0, heldGroupsMax),
    plan:
      plan.observedOnly.length === 0
        ? undefined
        : { additions: plan.observedOnly.length - removals, removals, examples },
  };
}

/** Omits a zero: most lists have room for all entries. */
function listCounts({ overflow, ...counts }: ListSummary): NonNullable<WafInstanceStatus["blocklist"]> {
  return { ...counts, ...(overflow === 0 ? {} : { overflow }) };
}

function acceptInstance({ result, desired }: RunFacts): AcceptedFinding {
  if (result?.kind === "Blocked" && result.blocker === "DuplicateKey") {
    return { status: "False", reason: "Conflict", message: result.message };
  }
  if (result?.kind === "Blocked" && result.blocker === "BaseUrlNotAllowed") {
    return { status: "False", reason: "NotAllowed", message: result.message };
  }
  if (desired.instanceFaults.length > 0) {
    return { status: "False", reason: "InvalidSpec", message: desired.instanceFaults.join(" ") };
  }
  return { ...accepted, message: "The instance is valid." };
}

function assessInstance(facts: RunFacts, lastSyncMs: number | undefined): SyncedFinding {
  const trouble = troubleOf(facts);
  if (trouble !== undefined) return trouble;
  const { plan, lists, phase, gathered } = facts;
  if (plan === undefined || lists === undefined) {
    // This is the status of a new generation, about which the result for the former one says nothing.
    return { status: "Unknown", reason: "Pending", message: "The WAF is being read.", next: "Working" };
  }
  if (phase === "Applying") {
    const left = facts.pace?.left ?? 0;
    const message = `${left} ${left === 1 ? "change is" : "changes are"} still to be written.${paceInWords(facts)}`;
    return { status: lastSyncMs === undefined ? "Unknown" : "False", reason: "Pending", message, next: "Working" };
  }
  if (gathered.instance.suspend) {
    const changes = counted(plan.observedOnly.length, "change waits", "changes wait");
    const message = `The instance is suspended; ${changes} for spec.suspend: false.`;
    return { status: "Unknown", reason: "Suspended", message, next: "Paused" };
  }
  if (plan.held !== undefined) {
    return { status: "False", reason: "Held", message: heldMessage(facts), next: "Person" };
  }
  if (plan.kept.length > 0) {
    return { status: "False", reason: "SourceBroken", message: keptMessage(facts), next: "Person" };
  }
  if (plan.contested.length > 0) return contestedFinding(facts);
  const { refusals, origins } = plan;
  if (refusals.size + origins.refused.size > 0) return refusedFinding(facts);
  const overflow = overflowOfInstance(facts);
  if (overflow !== undefined) {
    return { status: "False", reason: "CapacityExceeded", message: overflow, next: "Person" };
  }
  if (plan.observedOnly.length > 0) {
    const changes = counted(plan.observedOnly.length, "change is", "changes are");
    const message = `Under the policy Observe, ${changes} not written: see status.plan.`;
    return { status: "False", reason: "Observed", message, next: "Settled" };
  }
  return { status: "True", reason: "Synced", message: syncedMessage(facts), next: "Settled" };
}

function syncedMessage({ lists, plan }: RunFacts): string {
  const of = (list: ListName): string => {
    const counts = lists?.[list];
    if (counts === undefined) return "";
    return `${list} ${counts.live} (${counts.managed} managed, ${counts.foreign} unmanaged)`;
  };
  const waiting = plan?.origins.waitingForPrimary ?? [];
  const primary =
    waiting.length === 0
      ? ""
      : ` Origin ${waiting.join(", ")} is the primary, and stays until another host becomes the primary.`;
  return `The WAF matches the declared state: ${of("blocklist")}, ${of("allowlist")}.${primary}`;
}

function contestedFinding({ plan }: RunFacts): SyncedFinding {
  const contested = plan?.contested ?? [];
  const examples = contested.slice(0, examplesMax).map(({ entry }) => entry);
  const until = formatTime(Math.min(...contested.map(({ untilMs }) => untilMs)));
  const others = isFull(contested)
    ? ` wafsync tracks no more than this number: it corrects other entries at each resync, without a pause.`
    : "";
  const message = `Another writer keeps reverting ${inThousands(contested.length)} of the declared entries (${examples.join(", ")}). Corrections are paused until ${until}: look for a second cluster or script with the same API key.${others}`;
  return { status: "False", reason: "Contested", message, next: "Person" };
}

function refusedFinding(facts: RunFacts): SyncedFinding {
  const { plan } = facts;
  const refusals = [...(plan?.refusals.values() ?? []), ...(plan?.origins.refused.values() ?? [])];
  const first = refusals[0];
  const count = refusals.length === 1 ? "1 write" : `${refusals.length} writes`;
  const example = first === undefined ? "" : ` ${first.operation}: ${asSentence(first.message)}`;
  const again = `wafsync retries ${refusals.length === 1 ? "it" : "them"} after an hour, or when the rule changes.`;
  const message = `The API refused ${count}. ${again}${example}${limitSuggestion(facts)}${waitingRemovals(facts)}`;
  return { status: "False", reason: "Rejected", message, next: "Person" };
}

function withRemovalsHeld(conditions: readonly Condition[], facts: RunFacts): readonly Condition[] {
  const { generation } = facts.gathered.instance.meta;
  const { plan, result } = facts;
  const common = { type: "RemovalsHeld", status: "True", observedGeneration: generation } as const;
  if (result?.kind === "Blocked" && result.blocker === "InventoryUnreadable") {
    const message = result.message;
    return setCondition(conditions, { ...common, reason: "InventoryUnreadable", message }, facts.nowMs);
  }
  if (plan === undefined) return conditions;
  const { held } = plan;
  if (held === undefined) return removeCondition(conditions, "RemovalsHeld");
  const reason = held.obstacle === undefined ? "TooManyRemovals" : obstacleReasons[held.obstacle.kind];
  return setCondition(conditions, { ...common, reason, message: heldMessage(facts) }, facts.nowMs);
}

const obstacleReasons = { Unconfirmed: "Unconfirmed", Restored: "InventoryUnreadable" } as const;

function withSourceBroken(conditions: readonly Condition[], facts: RunFacts): readonly Condition[] {
  const { plan } = facts;
  if (plan === undefined) return conditions;
  const message = keptMessage(facts);
  if (message === "") return removeCondition(conditions, "SourceBroken");
  const { generation } = facts.gathered.instance.meta;
  const common = { type: "SourceBroken", status: "True", observedGeneration: generation } as const;
  return setCondition(conditions, { ...common, reason: "SourceBroken", message }, facts.nowMs);
}
