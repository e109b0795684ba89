// Every condition that wafsync writes, and every reason that one can have: the published vocabulary, as closed unions. A reason
// means the same in each condition, and an unlisted one does not compile. docs/reference/conditions.md says what each means.
import { entryKinds, type ResourceKind, resourceKinds } from "../model/resource.ts";

export const conditionStatuses = ["True", "False", "Unknown"] as const;
export type ConditionStatus = (typeof conditionStatuses)[number];

export interface ConditionFact {
  readonly kinds: readonly ResourceKind[];
  /** Whether `True` is the normal state, or the condition is present only while something is abnormal. */
  readonly polarity: "NormalTrue" | "AbnormalTrue";
  /** Conditions that this one summarizes and whose reasons it may repeat. */
  readonly repeats?: readonly string[];
}

/** The conditions that can have a reason, each with the values of `status` that it then has. */
export type ConditionsOfReason = Readonly<Partial<Record<ConditionType, readonly ConditionStatus[]>>>;

export const conditionFacts = {
  Ready: {
    kinds: resourceKinds,
    polarity: "NormalTrue",
    repeats: ["Accepted", "Synced", "Complete", "Failed", "Fetched", "LogsForwarded", "LogsJudged"],
  },
  Accepted: { kinds: resourceKinds, polarity: "NormalTrue" },
  Synced: { kinds: ["WafInstance", ...entryKinds], polarity: "NormalTrue" },
  RemovalsHeld: { kinds: ["WafInstance"], polarity: "AbnormalTrue" },
  SourceBroken: { kinds: ["WafInstance"], polarity: "AbnormalTrue" },
  LogsForwarded: { kinds: ["WafInstance"], polarity: "NormalTrue" },
  Complete: { kinds: ["WafCacheClear"], polarity: "NormalTrue", repeats: ["Failed"] },
  Failed: { kinds: ["WafCacheClear"], polarity: "AbnormalTrue" },
  Fetched: { kinds: ["WafFeed"], polarity: "NormalTrue" },
  Stale: { kinds: ["WafFeed"], polarity: "AbnormalTrue" },
  LogsJudged: { kinds: ["WafAutoBlock"], polarity: "NormalTrue", repeats: ["LogsForwarded"] },
  Incomplete: { kinds: ["WafAutoBlock"], polarity: "AbnormalTrue" },
  Reconciling: {
    kinds: resourceKinds,
    polarity: "AbnormalTrue",
    repeats: ["Synced", "Complete", "Fetched", "LogsForwarded", "LogsJudged"],
  },
  Stalled: { kinds: resourceKinds, polarity: "AbnormalTrue", repeats: ["Accepted", "Synced", "Failed", "Fetched"] },
} as const satisfies Record<string, ConditionFact>;

export type ConditionType = keyof typeof conditionFacts;

const yes = ["True"] as const;
const no = ["False"] as const;
const unknown = ["Unknown"] as const;
const notYet = ["False", "Unknown"] as const;

export const reasonFacts = {
  // The object itself.
  Pending: { Synced: notYet, Complete: no, Fetched: unknown },
  Suspended: { Synced: notYet, Complete: no, Fetched: unknown },
  Accepted: { Accepted: yes },
  InvalidSpec: { Accepted: no },
  Conflict: { Accepted: no },
  InstanceNotFound: { Accepted: no },
  NotAllowed: { Accepted: no },

  // The entries of a rule.
  InvalidEntries: { Accepted: no },
  SourceMissing: { Accepted: no },
  Expired: { Synced: yes },
  CapacityExceeded: { Synced: no },

  // Whether the WAF matches the declared state.
  Synced: { Synced: yes },
  Observed: { Synced: no },
  Contested: { Synced: no },
  Blocked: { Synced: no },

  // Removals on hold.
  Held: { Synced: no },
  TooManyRemovals: { RemovalsHeld: yes },
  Unconfirmed: { RemovalsHeld: yes },
  InventoryUnreadable: { RemovalsHeld: yes },
  SourceBroken: { Synced: no, SourceBroken: yes },

  // The API, and the logs of blocked requests.
  ApiUnavailable: { Synced: no, LogsForwarded: no },
  BadApiKey: { Synced: no },
  Rejected: { Synced: no },
  Forwarded: { LogsForwarded: ["Unknown", "True"] },
  TooLarge: { LogsForwarded: no },
  OutputUnavailable: { LogsForwarded: no },
  Judged: { LogsJudged: ["Unknown", "True"] },
  MaxEntriesReached: { Incomplete: yes },

  // Cache clears.
  Cleared: { Complete: yes },
  Failed: { Failed: yes },

  // Feeds.
  Fetched: { Fetched: yes },
  Unavailable: { Fetched: no },
  ContentOnHold: { Fetched: no },
  NotConfirmed: { Stale: yes },
} as const satisfies Record<string, ConditionsOfReason>;

type Reasons = typeof reasonFacts;
type OwnReason<Type extends ConditionType> = {
  [Reason in keyof Reasons]: Type extends keyof Reasons[Reason] ? Reason : never;
}[keyof Reasons];
type RepeatedType<Type extends ConditionType> = (typeof conditionFacts)[Type] extends {
  readonly repeats: readonly (infer Repeated extends ConditionType)[];
}
  ? Repeated
  : never;

/** The reasons that a condition of this type may have. */
export type ReasonOf<Type extends ConditionType> =
  | OwnReason<Type>
  | { [Repeated in RepeatedType<Type>]: OwnReason<Repeated> }[RepeatedType<Type>];

export type AcceptedReason = ReasonOf<"Accepted">;
export type SyncedReason = ReasonOf<"Synced">;
