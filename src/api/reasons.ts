// Every condition that wafsync writes, with every reason that it can have: the published vocabulary, as closed unions. An
// unlisted reason does not compile, so the reference docs stay complete.
import { acceptedFact } from "./acceptance-reasons.ts";
import { incompleteFact, logsJudgedFact } from "./auto-block-reasons.ts";
import { type ConditionFact, type ConditionStatus, noAction } from "./condition-fact.ts";
import { fetchedFact, staleFact } from "./feed-reasons.ts";
import { completeFact, failedFact, logsForwardedFact } from "./job-reasons.ts";
import { removalsHeldFact, syncedFact } from "./sync-reasons.ts";

const everyKind = ["WafInstance", "WafIpRule", "WafOrigin", "WafCacheClear", "WafFeed", "WafAutoBlock"] as const;

const readyFact = {
  kinds: everyKind,
  polarity: "NormalTrue",
  meaning:
    "Summarizes the other conditions: `Unknown` during the first sync, and `False` only after a failure, with the reason and message of the condition that failed.",
  repeats: ["Accepted", "Synced", "Complete", "Failed", "Fetched", "LogsForwarded", "LogsJudged"],
  repeatedStatuses: ["True", "False", "Unknown"],
  reasons: {
    Ready: { statuses: ["True"], meaning: "The WAF matches the declared state.", action: noAction },
    Progressing: {
      statuses: ["Unknown"],
      meaning: "Nothing has failed, but work remains.",
      action: "Wait: the message reports the progress.",
    },
  },
} as const satisfies ConditionFact;

const reconcilingFact = {
  kinds: everyKind,
  polarity: "AbnormalTrue",
  meaning: "Work on this object is in progress or will be retried. Never present while `Ready` is `True`.",
  repeats: [],
  repeatedStatuses: [],
  reasons: {
    Progressing: { statuses: ["True"], meaning: "Work is in progress.", action: "Wait." },
    ProgressingWithRetry: {
      statuses: ["True"],
      meaning: "The last attempt failed, and wafsync will retry automatically.",
      action: "Wait; `Ready` and `Synced` say what failed.",
    },
  },
} as const satisfies ConditionFact;

const stalledFact = {
  kinds: everyKind,
  polarity: "AbnormalTrue",
  meaning:
    "Only a change by a person can resolve the problem. The reason and message are those of the condition that failed.",
  repeats: ["Accepted", "Synced", "Failed", "RemovalsHeld", "Fetched", "LogsJudged"],
  repeatedStatuses: ["True"],
  reasons: {},
} as const satisfies ConditionFact;

export const conditionFacts = {
  Ready: readyFact,
  Accepted: acceptedFact,
  Synced: syncedFact,
  RemovalsHeld: removalsHeldFact,
  LogsForwarded: logsForwardedFact,
  Complete: completeFact,
  Failed: failedFact,
  Fetched: fetchedFact,
  Stale: staleFact,
  LogsJudged: logsJudgedFact,
  Incomplete: incompleteFact,
  Reconciling: reconcilingFact,
  Stalled: stalledFact,
} as const satisfies Record<string, ConditionFact>;

type Facts = typeof conditionFacts;
export type ConditionType = keyof Facts;
export const conditionTypes = Object.keys(conditionFacts) as readonly ConditionType[];

type OwnReason<Type extends ConditionType> = keyof Facts[Type]["reasons"] & string;
type RepeatedType<Type extends ConditionType> = Facts[Type]["repeats"][number];

/** The reasons that a condition of this type may have. */
export type ReasonOf<Type extends ConditionType> =
  | OwnReason<Type>
  | { [Repeated in RepeatedType<Type>]: OwnReason<Repeated> }[RepeatedType<Type>];

export type AcceptedReason = ReasonOf<"Accepted">;
export type SyncedReason = ReasonOf<"Synced">;

/** Whether a condition of this type may have this reason with this status. This defines status conformance. */
export function isPublished(type: string, reason: string, status: string): boolean {
  if (!Object.hasOwn(conditionFacts, type)) return false;
  const fact: ConditionFact = conditionFacts[type as ConditionType];
  const known = status as ConditionStatus;
  if (Object.hasOwn(fact.reasons, reason)) return fact.reasons[reason]?.statuses.includes(known) ?? false;
  const repeated = fact.repeats.some((other) => Object.hasOwn(conditionFacts[other as ConditionType].reasons, reason));
  return repeated && fact.repeatedStatuses.includes(known);
}
