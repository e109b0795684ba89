// The status of a WafInstance, from the facts of a run.
import { formatTime } from "../../model/time-text.ts";
import { type NewConditions } from "../../kinds/conditions.ts";
import { durationInWords } from "../../kinds/durations.ts";
import { heldGroupsMax, type WafInstanceStatus } from "../../kinds/waf-instance.ts";
import { listNames } from "../../model/declared.ts";
import { operationKey } from "../../model/operation.ts";
import { asSentence, counted } from "../../model/sentence.ts";
import {
  accepted,
  type AcceptedFinding,
  forPerson,
  pendingFinding,
  reading,
  type SyncedFinding,
  troubleOf,
  waitingInWords,
  withFindings,
} from "./findings.ts";
import type { ListSummary } from "../../decide/progress.ts";
import type { Plan } from "../../decide/plan.ts";
import {
  contestedMessage,
  heldGroups,
  heldMessage,
  keptMessage,
  overflowMessage,
  waitingRemovals,
} from "./messages.ts";
import type { RunFacts } from "../facts.ts";

const planExamplesMax = 10;

/** Returns the complete next status. Keeps former values for everything that the run could not determine. */
export function instanceStatus(before: Partial<WafInstanceStatus>, facts: RunFacts): Partial<WafInstanceStatus> {
  const { desired, nowMs, result } = facts;
  const assessment = {
    accepted: acceptInstance(facts),
    found: assessInstance(facts),
    others: stayingConditions(facts),
  };
  return {
    ...withFindings(before, facts.gathered.instance.meta, "Synced", assessment, nowMs),
    attachedRules: desired.rules.filter(({ isAttached, rule }) => isAttached && rule.meta.kind === "WafIpRule").length,
    attachedOrigins: desired.compiledOrigins.filter(({ isAttached }) => isAttached).length,
    ...(result?.kind === "Done" ? { lastSyncTime: formatTime(nowMs) } : {}),
    ...observedPart(before, facts),
  };
}

/** The conditions about what stays on the WAF. They keep their state while there is no plan. */
function stayingConditions({ plan, result, gathered }: RunFacts): NewConditions {
  if (result?.kind === "Blocked" && result.blocker === "InventoryUnreadable") {
    const message = "wafsync removes nothing until it can read its record.";
    return { RemovalsHeld: { status: "True", reason: "InventoryUnreadable", message } };
  }
  if (plan === undefined) return {};
  const { held, kept } = plan;
  const reason = held?.obstacle === undefined ? "TooManyRemovals" : obstacleReasons[held.obstacle.kind];
  const broken = { status: "True", reason: "SourceBroken", message: keptMessage({ plan }) } as const;
  return {
    RemovalsHeld: held && { status: "True", reason, message: heldMessage({ plan, gathered }) },
    SourceBroken: kept.length === 0 ? undefined : broken,
  };
}

const obstacleReasons = { Unconfirmed: "Unconfirmed", Restored: "InventoryUnreadable" } as const;

function observedPart(before: Partial<WafInstanceStatus>, facts: RunFacts): Partial<WafInstanceStatus> {
  const { observed, plan, inventory } = facts;
  if (observed === undefined || plan === undefined) return {};
  const { held, observedOnly, lists } = plan;
  const examples = observedOnly.slice(0, planExamplesMax).map(operationKey);
  const removals = observedOnly.filter(({ kind }) => kind === "RemoveEntry" || kind === "RemoveOrigin").length;
  return {
    domain: inventory?.domain ?? before.domain,
    primaryOrigin: observed.primaryOrigin,
    blocklist: listCounts(lists.blocklist),
    allowlist: listCounts(lists.allowlist),
    inventoryVersion: Math.max(before.inventoryVersion ?? 0, inventory?.version ?? 0),
    heldPlan: held?.hash,
    removalsOnHold: held && heldGroups(held).slice(0, heldGroupsMax),
    plan: observedOnly.length === 0 ? undefined : { additions: observedOnly.length - removals, removals, examples },
  };
}

/** Omits a zero: most lists have room for all entries. */
function listCounts({ overflow, ...counts }: ListSummary): NonNullable<WafInstanceStatus["blocklist"]> {
  return { ...counts, ...(overflow === 0 ? {} : { overflow }) };
}

function acceptInstance({ result, desired }: RunFacts): AcceptedFinding {
  const blocker = result?.kind === "Blocked" ? result.blocker : undefined;
  if (result?.kind === "Blocked" && (blocker === "DuplicateKey" || blocker === "BaseUrlNotAllowed")) {
    const reason = blocker === "DuplicateKey" ? "Conflict" : "NotAllowed";
    return { status: "False", reason, message: result.message };
  }
  if (desired.instanceFaults.length > 0) {
    return { status: "False", reason: "InvalidSpec", message: desired.instanceFaults.join(" ") };
  }
  return { ...accepted, message: "The instance is valid." };
}

/** The first that applies. */
function assessInstance(facts: RunFacts): SyncedFinding {
  const trouble = troubleOf(facts);
  if (trouble !== undefined) return trouble;
  const { plan, result, gathered } = facts;
  if (plan === undefined) return reading;
  if (result === undefined) {
    const message = `${counted(facts.pace?.left ?? 0, "change is", "changes are")} still to be written.${paceInWords(facts)}${waitingInWords(facts)}`;
    return pendingFinding(message);
  }
  if (gathered.instance.suspend) {
    const changes = counted(plan.observedOnly.length, "change waits", "changes wait");
    const message = `The instance is suspended; ${changes} for spec.suspend: false.`;
    return { status: "Unknown", reason: "Suspended", message, next: "Paused" };
  }
  if (plan.held !== undefined) return forPerson("Held", "Removals are on hold: see the condition RemovalsHeld.");
  if (plan.kept.length > 0) {
    const message = "wafsync keeps entries because something can't be read: see the condition SourceBroken.";
    return forPerson("SourceBroken", message);
  }
  const contested = contestedMessage(plan);
  if (contested !== "") return forPerson("Contested", contested);
  const refused = refusedMessage(plan);
  if (refused !== "") return forPerson("Rejected", refused);
  const overflow = overflowMessage(facts);
  if (overflow !== "") return forPerson("CapacityExceeded", overflow);
  if (plan.observedOnly.length > 0) {
    const changes = counted(plan.observedOnly.length, "change is", "changes are");
    const message = `Under the policy Observe, ${changes} not written: see status.plan.`;
    return { status: "False", reason: "Observed", message, next: "Settled" };
  }
  return { status: "True", reason: "Synced", message: syncedMessage(plan), next: "Settled" };
}

/** The rate of the run and the remaining time; empty until they are known. */
function paceInWords({ pace }: RunFacts): string {
  if (pace === undefined || pace.perSecond === 0 || pace.left === 0) return "";
  const perSecond = pace.perSecond >= 10 ? Math.round(pace.perSecond) : Number(pace.perSecond.toPrecision(2));
  return ` ${perSecond} calls per second, about ${durationInWords(pace.left / pace.perSecond)} left.`;
}

function syncedMessage({ lists, origins }: Plan): string {
  const [blocklist, allowlist] = listNames.map((list) => {
    const { live, managed, foreign } = lists[list];
    return `${list} ${live} (${managed} managed, ${foreign} unmanaged)`;
  });
  const waiting = [...origins.outcomes].filter(
    ([, { kind, insteadOf }]) => kind === "Primary" && insteadOf === "Remove",
  );
  const hosts = waiting.map(([host]) => host).join(", ");
  const primary =
    hosts === "" ? "" : ` Origin ${hosts} is the primary, and stays until another host becomes the primary.`;
  return `The WAF matches the declared state: ${blocklist}, ${allowlist}.${primary}`;
}

/** Empty if the API refused nothing. */
function refusedMessage(plan: Plan): string {
  const { outcomes, origins } = plan;
  const decided = [
    ...listNames.flatMap((list) => outcomes[list].map(({ outcome }) => outcome)),
    ...origins.outcomes.values(),
  ];
  const refusals = decided.flatMap((outcome) => outcome.refusals ?? []);
  const [first] = refusals;
  if (first === undefined) return "";
  const again = `wafsync retries ${refusals.length === 1 ? "it" : "them"} after an hour, or when the rule changes.`;
  const example = `${first.operation}: ${asSentence(first.message)}`;
  return `The API refused ${counted(refusals.length, "write", "writes")}. ${again} ${example}${waitingRemovals(plan)}`;
}
