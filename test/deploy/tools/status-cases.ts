// A status for every published reason, created by the operator's own code, and the health that Argo CD and Flux
// must derive from it. The types make the tables complete: a new reason does not compile without an expected health.
import { type Condition, withConditions } from "../../../src/kinds/conditions.ts";
import {
  type AcceptedReason,
  type ConditionType,
  type ReasonFact,
  reasonFacts,
  type ReasonOf,
  type SyncedReason,
} from "../../../src/kinds/reasons.ts";
import { accepted, type AcceptedFinding, type SyncedFinding, withFindings } from "../../../src/run/status/findings.ts";
import type { ResourceKind } from "../../../src/model/resource.ts";
import { afterFetch, type FeedState, initialFeedState } from "../../../src/feeds/feed-state.ts";
import { feedStatus } from "../../../src/feeds/feed-status.ts";
import { aFeed, aReading, textFacts } from "../../support/builders/declare-feed.ts";

export type ArgoHealth = "Progressing" | "Healthy" | "Degraded" | "Suspended";
export type FluxStatus = "InProgress" | "Current" | "Failed";

export interface StatusCase {
  readonly title: string;
  readonly object: Readonly<Record<string, unknown>>;
  readonly conditions: readonly Condition[];
  readonly argo: ArgoHealth;
  readonly flux: FluxStatus;
}

type Verdict = readonly [ArgoHealth, FluxStatus];
type Next = SyncedFinding["next"];

const generation = 3;
const nowMs = Date.UTC(2026, 10, 21, 12);
const message = "This is the message.";
const healthy: Verdict = ["Healthy", "Current"];
const working: Verdict = ["Progressing", "InProgress"];
const failed: Verdict = ["Degraded", "Failed"];
const paused: Verdict = ["Suspended", "InProgress"];
/** Flux has no state for objects that are awaiting approval without having failed. */
const held: Verdict = ["Suspended", "Failed"];

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

const trueReasons: ReadonlySet<SyncedReason> = new Set(["Synced", "Expired"]);

/** An object that is not accepted counts as failed after the rest has settled. A missing instance may still be created. */
const acceptedVerdicts: Readonly<Record<Exclude<AcceptedReason, "Accepted">, Verdict>> = {
  InstanceNotFound: working,
  NotAllowed: failed,
  InvalidEntries: failed,
  InvalidSpec: failed,
  Conflict: failed,
  SourceMissing: failed,
};

type HeldCase = readonly [SyncedReason, Next, Verdict];
const removalsHeldVerdicts: Readonly<Record<ReasonOf<"RemovalsHeld">, HeldCase>> = {
  TooManyRemovals: ["Held", "Person", held],
  Unconfirmed: ["Held", "Person", held],
  InventoryUnreadable: ["Blocked", "Person", failed],
};

/** The state of a feed with this reason, created by the code for the conditions of feeds. */
const fetchedVerdicts: Readonly<Record<ReasonOf<"Fetched">, readonly [Partial<FeedState>, Verdict]>> = {
  Fetched: [{}, healthy],
  Pending: [{ good: undefined }, working],
  Suspended: [{}, paused],
  Unavailable: [{ fault: { code: "TimedOut", message } }, working],
  ContentOnHold: [{ held: heldContent() }, held],
};

function heldContent(): NonNullable<FeedState["held"]> {
  return { reason: "Shrunk", message, hash: "0123456789abcdef", counts: aReading([]).counts, sinceMs: nowMs };
}

const underway = [
  { type: "Ready", status: "Unknown", reason: "Pending" },
  { type: "Reconciling", status: "True", reason: "Pending" },
] as const;

type BriefCondition = Pick<Condition, "type" | "status" | "reason">;
type CompleteCase = readonly [Verdict, readonly BriefCondition[]];
const completeVerdicts: Readonly<Record<Exclude<ReasonOf<"Complete">, "Failed">, CompleteCase>> = {
  Cleared: [healthy, [{ type: "Ready", status: "True", reason: "Cleared" }]],
  Pending: [working, underway],
  Suspended: [paused, [{ type: "Ready", status: "Unknown", reason: "Suspended" }]],
};

/** All cases, each with the object as the API server would return it. */
export function statusCases(): StatusCase[] {
  return [
    ...syncedCases(),
    ...acceptedCases(),
    ...removalsHeldCases(),
    // Somebody has to correct the source, or to let its entries go.
    withCondition("WafInstance", "SourceBroken", "SourceBroken", finding("SourceBroken", "Person"), failed),
    // Whatever happens to the logs, the WAF matches the declared state.
    ...beside("LogsForwarded", "WafInstance"),
    ...beside("LogsJudged", "WafAutoBlock"),
    ...beside("Incomplete", "WafAutoBlock"),
    ...cacheClearCases(),
    ...feedCases(),
    ...oddCases(),
  ];
}

function syncedCases(): StatusCase[] {
  return entriesOf(syncedVerdicts).flatMap(([reason, verdicts]) =>
    entriesOf(verdicts).map(([next, verdict]) =>
      made(kindFor(reason), `Synced ${reason}, ${next}`, assessed(accepted, finding(reason, next)), verdict),
    ),
  );
}

function kindFor(reason: SyncedReason): ResourceKind {
  return reason === "Expired" ? "WafIpRule" : "WafInstance";
}

function acceptedCases(): StatusCase[] {
  return entriesOf(acceptedVerdicts).flatMap(([reason, verdict]) => {
    const refused = { status: "False", reason, message } as const;
    const kind = "WafIpRule";
    const title = `Accepted ${reason}`;
    if (reason === "InstanceNotFound") {
      const conditions = built([
        { type: "Accepted", status: "False", reason },
        { type: "Ready", status: "False", reason },
      ]);
      return [made(kind, title, conditions, verdict)];
    }
    return [
      made(kind, title, assessed(refused, finding("Synced", "Settled")), verdict),
      made(kind, `${title}, while the others are written`, assessed(refused, finding("Pending", "Working")), working),
    ];
  });
}

function removalsHeldCases(): StatusCase[] {
  return entriesOf(removalsHeldVerdicts).map(([reason, [synced, next, verdict]]) =>
    withCondition("WafInstance", "RemovalsHeld", reason, finding(synced, next), verdict),
  );
}

/** Objects that are in sync and have this condition as well, with each of its own reasons. */
function beside(type: ConditionType, kind: ResourceKind): StatusCase[] {
  return Object.entries<ReasonFact>(reasonFacts).flatMap(([reason, { on }]) => {
    const [status] = on[type] ?? [];
    return status === undefined ? [] : withCondition(kind, type, reason, finding("Synced", "Settled"), healthy, status);
  });
}

function withCondition(
  kind: ResourceKind,
  type: ConditionType,
  reason: string,
  synced: SyncedFinding,
  verdict: Verdict,
  status: Condition["status"] = "True",
): StatusCase {
  const conditions = built([{ type, status, reason }], assessed(accepted, synced));
  return made(kind, `${type} ${reason}`, conditions, verdict);
}

function cacheClearCases(): StatusCase[] {
  const acceptedCondition = { type: "Accepted", status: "True", reason: "Accepted" } as const;
  const completed = entriesOf(completeVerdicts).map(([reason, [verdict, others]]) => {
    const status = verdict === healthy ? "True" : "False";
    const complete = { type: "Complete", status, reason } as const;
    return made("WafCacheClear", `Complete ${reason}`, built([acceptedCondition, complete, ...others]), verdict);
  });
  const givenUp = built([
    acceptedCondition,
    { type: "Complete", status: "False", reason: "Failed" },
    { type: "Failed", status: "True", reason: "Failed" },
    { type: "Ready", status: "False", reason: "Failed" },
    { type: "Stalled", status: "True", reason: "Failed" },
  ]);
  return [...completed, made("WafCacheClear", "Failed Failed", givenUp, failed)];
}

function feedCases(): StatusCase[] {
  const outcome = { kind: "Read", reading: aReading(["192.0.2.1"]), facts: textFacts() } as const;
  const good = afterFetch(initialFeedState(aFeed()), aFeed(), outcome, { nowMs, random: 0 });
  const caseOf = (
    title: string,
    change: Partial<FeedState>,
    verdict: Verdict,
    feed = aFeed(),
    atMs = nowMs,
    isUsed = true,
  ): StatusCase => {
    const state = { ...good, ...change };
    const facts = { feed, state, content: good.good?.content, storeProblem: undefined, isUsed, nowMs: atMs };
    const { conditions } = feedStatus({}, facts) as { readonly conditions: readonly Condition[] };
    const ofGeneration = conditions.map((condition) => ({ ...condition, observedGeneration: generation }));
    return made("WafFeed", title, ofGeneration, verdict);
  };
  const fetched = entriesOf(fetchedVerdicts).map(([reason, [change, verdict]]) =>
    caseOf(`Fetched ${reason}`, change, verdict, aFeed({ suspend: reason === "Suspended" })),
  );
  const unused = caseOf("Fetched Pending, because no rule uses the feed", {}, healthy, aFeed(), nowMs, false);
  // With stale content, the rules still match the declared state.
  return [...fetched, unused, caseOf("Stale NotConfirmed", {}, healthy, aFeed(), nowMs + 10 * aFeed().staleAfterMs)];
}

function oddCases(): StatusCase[] {
  const synced = assessed(accepted, finding("Synced", "Settled"));
  const settled = made("WafIpRule", "a settled rule", synced, healthy);
  const status = settled.object["status"] as object;
  const deleting = built([{ type: "Accepted", status: "True", reason: "Accepted" }, ...underway]);
  const duplicate = built([
    { type: "Accepted", status: "False", reason: "Conflict" },
    { type: "Ready", status: "False", reason: "Conflict" },
    { type: "Stalled", status: "True", reason: "Conflict" },
  ]);
  const changed = (title: string, given: object): StatusCase => {
    return { ...settled, ...verdictOf(working), title, object: { ...settled.object, status: given } };
  };
  return [
    settled,
    made("WafInstance", "Reconciling Deleting", deleting, working),
    made("WafInstance", "Stalled DuplicateKey", duplicate, failed),
    changed("a change that was not seen yet", { ...status, observedGeneration: 2 }),
    changed("the default status", { observedGeneration: -1, conditions: [] }),
    changed("a status from before a restore", { ...status, observedGeneration: 9 }),
  ];
}

function verdictOf([argo, flux]: Verdict): Pick<StatusCase, "argo" | "flux"> {
  return { argo, flux };
}

function finding(reason: SyncedReason, next: Next): SyncedFinding {
  const otherwise = next === "Working" || next === "Paused" ? "Unknown" : "False";
  return { status: trueReasons.has(reason) ? "True" : otherwise, reason, message, next };
}

function assessed(acceptedFinding: AcceptedFinding, synced: SyncedFinding): readonly Condition[] {
  return withFindings({}, { generation }, "Synced", { accepted: acceptedFinding, found: synced }, nowMs).conditions;
}

function built(brief: readonly BriefCondition[], before: readonly Condition[] = []): readonly Condition[] {
  const next = Object.fromEntries(brief.map(({ type, ...condition }) => [type, { ...condition, message }]));
  return withConditions(before, next, generation, nowMs);
}

function made(kind: ResourceKind, title: string, conditions: readonly Condition[], verdict: Verdict): StatusCase {
  const metadata = { name: "shop", namespace: "edge", uid: "9d1f", generation };
  const status = { observedGeneration: generation, conditions };
  const object = { apiVersion: "wafsync.dev/v1alpha1", kind, metadata, spec: {}, status };
  return { title: `${kind}: ${title}`, object, conditions, ...verdictOf(verdict) };
}

function entriesOf<Key extends string, Value>(record: Partial<Readonly<Record<Key, Value>>>): [Key, Value][] {
  return Object.entries(record) as [Key, Value][];
}
