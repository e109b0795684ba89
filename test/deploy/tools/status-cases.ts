// A status for every published reason, created by the operator's own code, and the health that Argo CD and Flux
// must derive from it. The suite of the verdicts checks that no reason is missing.
import { type Condition, withConditions } from "../../../src/kinds/conditions.ts";
import {
  type ConditionType,
  type ConditionsOfReason,
  reasonFacts,
  type SyncedReason,
} from "../../../src/kinds/reasons.ts";
import { accepted, type AcceptedFinding, type SyncedFinding, withFindings } from "../../../src/run/status/messages.ts";
import type { ResourceKind } from "../../../src/model/resource.ts";
import { afterFetch, type FeedState, initialFeedState } from "../../../src/feeds/feed-state.ts";
import { feedStatus } from "../../../src/feeds/feed-status.ts";
import { aFeed, aReading, textFacts } from "../../support/builders/declare-feed.ts";

interface StatusCase {
  readonly title: string;
  readonly object: Readonly<Record<string, unknown>>;
  readonly conditions: readonly Condition[];
  readonly argo: "Progressing" | "Healthy" | "Degraded" | "Suspended";
  readonly flux: "InProgress" | "Current" | "Failed";
}

type Verdict = Pick<StatusCase, "argo" | "flux">;
type Next = SyncedFinding["next"];

const generation = 3;
const nowMs = Date.UTC(2026, 10, 21, 12);
const message = "This is the message.";
const healthy: Verdict = { argo: "Healthy", flux: "Current" };
const working: Verdict = { argo: "Progressing", flux: "InProgress" };
const failed: Verdict = { argo: "Degraded", flux: "Failed" };
const paused: Verdict = { argo: "Suspended", flux: "InProgress" };
/** Flux has no state for objects that are awaiting approval without having failed. */
const held: Verdict = { argo: "Suspended", flux: "Failed" };

/** Who has to act for each reason, in each form in which the operator reports it. */
const syncedVerdicts: Readonly<Record<SyncedReason, Partial<Readonly<Record<Next, Verdict>>>>> = {
  Synced: { Settled: healthy },
  Expired: { Settled: healthy },
  Observed: { Settled: healthy },
  Pending: { Working: working, Person: failed },
  ApiUnavailable: { Retrying: working, Person: failed },
  Rejected: { Person: failed },
  CapacityExceeded: { Person: failed },
  BadApiKey: { Person: failed },
  Blocked: { Person: failed, Retrying: working },
  Contested: { Person: failed, Retrying: working },
  Held: { Person: held },
  SourceBroken: { Person: failed },
  Suspended: { Paused: paused },
};

const isAccepted = "Accepted True Accepted";
const underway = "Ready Unknown Pending, Reconciling True Pending";

/** All cases, each with the object as the API server would return it. */
export function statusCases(): StatusCase[] {
  return [
    ...syncedCases(),
    ...refusedCases(),
    // The instance may still be created.
    written(
      "WafIpRule",
      "Accepted InstanceNotFound",
      working,
      "Accepted False InstanceNotFound, Ready False InstanceNotFound",
    ),
    also("WafInstance", "RemovalsHeld True TooManyRemovals", held, finding("Held", "Person")),
    also("WafInstance", "RemovalsHeld True Unconfirmed", held, finding("Held", "Person")),
    also("WafInstance", "RemovalsHeld True InventoryUnreadable", failed, finding("Blocked", "Person")),
    // Somebody has to correct the source, or to let its entries go.
    also("WafInstance", "SourceBroken True SourceBroken", failed, finding("SourceBroken", "Person")),
    // Whatever happens to the logs, the WAF matches the declared state.
    ...beside("LogsForwarded", "WafInstance"),
    ...beside("LogsJudged", "WafAutoBlock"),
    ...beside("Incomplete", "WafAutoBlock"),
    written("WafCacheClear", "Complete Cleared", healthy, `${isAccepted}, Complete True Cleared, Ready True Cleared`),
    written("WafCacheClear", "Complete Pending", working, `${isAccepted}, Complete False Pending, ${underway}`),
    written(
      "WafCacheClear",
      "Complete Suspended",
      paused,
      `${isAccepted}, Complete False Suspended, Ready Unknown Suspended`,
    ),
    written(
      "WafCacheClear",
      "Failed Failed",
      failed,
      `${isAccepted}, Complete False Failed, Failed True Failed, Ready False Failed, Stalled True Failed`,
    ),
    feedCase("Fetched Fetched", healthy),
    feedCase("Fetched Pending", working, { good: undefined }),
    feedCase("Fetched Suspended", paused, {}, { feed: aFeed({ suspend: true }) }),
    feedCase("Fetched Unavailable", working, { fault: { message } }),
    feedCase("Fetched ContentOnHold", held, { held: heldContent() }),
    feedCase("Fetched Pending, because no rule uses the feed", healthy, {}, { isUsed: false }),
    // With stale content, the rules still match the declared state.
    feedCase("Stale NotConfirmed", healthy, {}, { nowMs: nowMs + 10 * aFeed().staleAfterMs }),
    written("WafInstance", "Reconciling Deleting", working, `${isAccepted}, ${underway}`),
    written(
      "WafInstance",
      "Stalled DuplicateKey",
      failed,
      "Accepted False Conflict, Ready False Conflict, Stalled True Conflict",
    ),
    ...unreadCases(),
  ];
}

function syncedCases(): StatusCase[] {
  return Object.entries(syncedVerdicts).flatMap(([name, verdicts]) =>
    Object.entries(verdicts).map(([next, verdict]) => {
      const reason = name as SyncedReason;
      const kind = reason === "Expired" ? "WafIpRule" : "WafInstance";
      const conditions = assessed(accepted, finding(reason, next as Next));
      return made(kind, `Synced ${reason}, ${next}`, verdict, conditions);
    }),
  );
}

/** An object that is not accepted counts as failed after the rest has settled. */
function refusedCases(): StatusCase[] {
  const reasons = ["NotAllowed", "InvalidEntries", "InvalidSpec", "Conflict", "SourceMissing"] as const;
  return reasons.flatMap((reason) => {
    const refused = { status: "False", reason, message } as const;
    const title = `Accepted ${reason}`;
    const written = assessed(refused, finding("Pending", "Working"));
    return [
      made("WafIpRule", title, failed, assessed(refused, finding("Synced", "Settled"))),
      made("WafIpRule", `${title}, while the others are written`, working, written),
    ];
  });
}

/** Objects that are in sync and have this condition as well, with each of its own reasons. */
function beside(type: ConditionType, kind: ResourceKind): StatusCase[] {
  return Object.entries<ConditionsOfReason>(reasonFacts).flatMap(([reason, on]) => {
    const [status] = on[type] ?? [];
    const synced = finding("Synced", "Settled");
    return status === undefined ? [] : also(kind, `${type} ${status} ${reason}`, healthy, synced);
  });
}

/** An accepted object that has this condition as well. */
function also(kind: ResourceKind, condition: string, verdict: Verdict, synced: SyncedFinding): StatusCase {
  const [type, , reason] = condition.split(" ");
  return made(kind, `${type} ${reason}`, verdict, built(condition, assessed(accepted, synced)));
}

/** @param conditions such as "Accepted True Accepted, Ready Unknown Pending" */
function written(kind: ResourceKind, title: string, verdict: Verdict, conditions: string): StatusCase {
  return made(kind, title, verdict, built(conditions));
}

function heldContent(): NonNullable<FeedState["held"]> {
  return { reason: "Shrunk", message, hash: "0123456789abcdef", counts: aReading([]).counts, sinceMs: nowMs };
}

/** A feed whose content was read, with these changes of its state and of the facts about it. */
function feedCase(
  title: string,
  verdict: Verdict,
  change: Partial<FeedState> = {},
  more: Partial<Parameters<typeof feedStatus>[1]> = {},
): StatusCase {
  const feed = aFeed();
  const outcome = { kind: "Read", reading: aReading(["192.0.2.1"]), facts: textFacts() } as const;
  const good = afterFetch(initialFeedState(feed), feed, outcome, { nowMs, random: 0 });
  const usual = { feed, content: good.good?.content, storeProblem: undefined, isUsed: true, nowMs };
  const facts = { ...usual, state: { ...good, ...change }, ...more };
  const { conditions } = feedStatus({}, facts) as { readonly conditions: readonly Condition[] };
  const ofGeneration = conditions.map((condition) => ({ ...condition, observedGeneration: generation }));
  return made("WafFeed", title, verdict, ofGeneration);
}

/** A settled rule, and what an operator has not judged since it was changed, created or restored. */
function unreadCases(): StatusCase[] {
  const settled = made("WafIpRule", "a settled rule", healthy, assessed(accepted, finding("Synced", "Settled")));
  const status = settled.object["status"] as object;
  const unread = (title: string, given: object): StatusCase => {
    return { ...settled, ...working, title, object: { ...settled.object, status: given } };
  };
  return [
    settled,
    unread("a change that was not seen yet", { ...status, observedGeneration: 2 }),
    unread("the default status", { observedGeneration: -1, conditions: [] }),
    unread("a status from before a restore", { ...status, observedGeneration: 9 }),
  ];
}

function finding(reason: SyncedReason, next: Next): SyncedFinding {
  const otherwise = next === "Working" || next === "Paused" ? "Unknown" : "False";
  const isTrue = reason === "Synced" || reason === "Expired";
  return { status: isTrue ? "True" : otherwise, reason, message, next };
}

function assessed(acceptedFinding: AcceptedFinding, synced: SyncedFinding): readonly Condition[] {
  return withFindings({}, { generation }, "Synced", { accepted: acceptedFinding, found: synced }, nowMs).conditions;
}

function built(conditions: string, before: readonly Condition[] = []): readonly Condition[] {
  const next = conditions.split(", ").map((condition) => {
    const [type = "", status = "", reason = ""] = condition.split(" ");
    return [type, { status: status as Condition["status"], reason, message }] as const;
  });
  return withConditions(before, Object.fromEntries(next), generation, nowMs);
}

function made(kind: ResourceKind, title: string, verdict: Verdict, conditions: readonly Condition[]): StatusCase {
  const metadata = { name: "shop", namespace: "edge", uid: "9d1f", generation };
  const status = { observedGeneration: generation, conditions };
  const object = { apiVersion: "wafsync.dev/v1alpha1", kind, metadata, spec: {}, status };
  return { title: `${kind}: ${title}`, object, conditions, ...verdict };
}
