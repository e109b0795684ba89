// Every condition that wafsync writes, and every reason that one can have: the published vocabulary, as closed unions. A reason
// means the same in each condition, and says what to do. An unlisted one does not compile, so the reference docs stay complete.
import { entryKinds, type ResourceKind, resourceKinds } from "../model/resource.ts";

export const conditionStatuses = ["True", "False", "Unknown"] as const;
export type ConditionStatus = (typeof conditionStatuses)[number];

export interface ConditionFact {
  readonly kinds: readonly ResourceKind[];
  /** Whether `True` is the normal state, or the condition is present only while something is abnormal. */
  readonly polarity: "NormalTrue" | "AbnormalTrue";
  readonly meaning: string;
  /** Conditions that this one summarizes and whose reasons it may repeat. */
  readonly repeats?: readonly string[];
}

export interface ReasonFact {
  /** The conditions that can have this reason, each with the values of `status` that it then has. */
  readonly on: Readonly<Partial<Record<ConditionType, readonly ConditionStatus[]>>>;
  /** What the reason means, as a sentence. */
  readonly meaning: string;
  /** What the user should do, as a sentence. */
  readonly action: string;
}

export const conditionFacts = {
  Ready: {
    kinds: resourceKinds,
    polarity: "NormalTrue",
    meaning:
      "Summarizes the other conditions: `Unknown` during the first sync, and `False` only after a failure. The reason is that of the condition that decides, and only `Ready` has its message: a condition with the same reason points to it. For the reasons `Held` and `SourceBroken`, see the conditions `RemovalsHeld` and `SourceBroken`.",
    repeats: ["Accepted", "Synced", "Complete", "Failed", "Fetched", "LogsForwarded", "LogsJudged"],
  },
  Accepted: {
    kinds: resourceKinds,
    polarity: "NormalTrue",
    meaning: "The object is valid and, unless it is the instance itself, attached to its instance.",
  },
  Synced: {
    kinds: ["WafInstance", ...entryKinds],
    polarity: "NormalTrue",
    meaning: "The WAF matches what this object declares.",
  },
  RemovalsHeld: {
    kinds: ["WafInstance"],
    polarity: "AbnormalTrue",
    meaning: "Removals in the plan are on hold. Additions continue.",
  },
  SourceBroken: {
    kinds: ["WafInstance"],
    polarity: "AbnormalTrue",
    meaning: "Entries or origins stay only because something can't be read that last declared them.",
  },
  LogsForwarded: {
    kinds: ["WafInstance"],
    polarity: "NormalTrue",
    meaning: "New blocked requests are forwarded. Present only while `spec.logs.enabled` is true.",
  },
  Complete: {
    kinds: ["WafCacheClear"],
    polarity: "NormalTrue",
    meaning: "The cache was cleared for the current `spec.trigger`.",
    repeats: ["Failed"],
  },
  Failed: {
    kinds: ["WafCacheClear"],
    polarity: "AbnormalTrue",
    meaning:
      "The cache was not cleared for the current `spec.trigger`, and wafsync does not try again: fix the cause, and set `spec.trigger` to a new value.",
  },
  Fetched: {
    kinds: ["WafFeed"],
    polarity: "NormalTrue",
    meaning: "The last fetch returned valid content. While `False`, rules continue to use the last good content.",
  },
  Stale: {
    kinds: ["WafFeed"],
    polarity: "AbnormalTrue",
    meaning:
      "The source has not confirmed the content for longer than `spec.staleAfter`. Rules continue to use the content.",
  },
  LogsJudged: {
    kinds: ["WafAutoBlock"],
    polarity: "NormalTrue",
    meaning: "The log of blocked requests is read and judged.",
    repeats: ["LogsForwarded"],
  },
  Incomplete: {
    kinds: ["WafAutoBlock"],
    polarity: "AbnormalTrue",
    meaning: "Some clients reached the threshold but are not listed.",
  },
  Reconciling: {
    kinds: resourceKinds,
    polarity: "AbnormalTrue",
    meaning:
      "Work on this object is in progress or will be retried. Never present while `Ready` is `True`. The reason is that of `Ready`.",
    repeats: ["Synced", "Complete", "Fetched", "LogsForwarded", "LogsJudged"],
  },
  Stalled: {
    kinds: resourceKinds,
    polarity: "AbnormalTrue",
    meaning: "Only a change by a person can resolve the problem. The reason is that of the condition that failed.",
    repeats: ["Accepted", "Synced", "Failed", "Fetched"],
  },
} as const satisfies Record<string, ConditionFact>;

export type ConditionType = keyof typeof conditionFacts;

const yes = ["True"] as const;
const no = ["False"] as const;
const unknown = ["Unknown"] as const;
const notYet = ["False", "Unknown"] as const;
const noAction = "Nothing to do.";

export const reasonFacts = {
  // The object itself.
  Pending: {
    on: { Synced: notYet, Complete: no, Fetched: unknown },
    meaning:
      "The object has not been processed yet, is queued behind other work, or is being written, one call after another. A feed is not fetched while no rule that is attached to an instance uses it.",
    action:
      "Wait: the message of the instance reports the rate and the remaining time. If it says that no rule uses the feed, refer to the feed in `spec.addressesFrom` of a `WafIpRule`, or delete it.",
  },
  Suspended: {
    on: { Synced: notYet, Complete: no, Fetched: unknown },
    meaning:
      "The object or its instance is suspended. wafsync still reads the WAF, but it writes nothing, fetches no feed and counts no requests.",
    action: "Set `spec.suspend` to false to resume.",
  },
  Accepted: {
    on: { Accepted: yes },
    meaning: "The object is valid and in effect. If a rule skips entries of a feed, its message says so.",
    action: noAction,
  },
  InvalidSpec: {
    on: { Accepted: no },
    meaning: "The object has fields or values that this version of wafsync does not understand.",
    action:
      "Correct the fields that the message names. Until then, the entries and origins of the object stay as they are.",
  },
  Conflict: {
    on: { Accepted: no },
    meaning:
      "Another object takes precedence: a rule for the other list that already has the same entry or is older, an older object with the same origin and a different type, or an older instance with the same API key.",
    action: "Decide which of the two objects should apply, and change or delete the other one.",
  },
  InstanceNotFound: {
    on: { Accepted: no },
    meaning: "There is no WafInstance with the name in `spec.instanceRef`, or it is being deleted.",
    action:
      "Create the WafInstance, or recreate the object with the correct name and namespace. If the WafInstance is being deleted, wait until it is gone.",
  },
  NotAllowed: {
    on: { Accepted: no },
    meaning:
      "Something does not allow the object or a part of it: the `spec.access` of the instance, the number of WafAutoBlocks for one instance, or, for an instance, the base URLs that the operator may call. The message says which.",
    action:
      "Ask the owner of the instance to extend `spec.access`, or remove that part from the object. For a base URL, use an allowed https URL, or ask the administrator about `--allowed-base-urls`, `--allow-private-networks` and `--allow-insecure-http`.",
  },

  // The entries of a rule.
  InvalidEntries: {
    on: { Accepted: no },
    meaning:
      "Some entries are not applied, or the rule has none: they are not valid, unambiguous addresses or networks, the guards of the instance reject them, or the namespace has more than the instance grants. All other entries are applied.",
    action:
      "Correct the entries in `status.rejected`. Each item says why, and what to write instead. Otherwise, ask the owner of the instance to change `spec.guards` or `maxEntries` in its `spec.access`.",
  },
  SourceMissing: {
    on: { Accepted: no },
    meaning:
      "A ConfigMap or feed in `spec.addressesFrom` can't be read, is still being read or is too large, or the feed has no content yet. For a WafAutoBlock, the record of the listed clients can't be read. Entries that came from it stay on the list.",
    action:
      "Create the ConfigMap or WafFeed, or correct the reference. If the feed has no content, check its status. If a ConfigMap is still being read, wait. If the message names a limit, shorten the ConfigMap.",
  },
  Expired: {
    on: { Synced: yes },
    meaning:
      "The rule has expired. wafsync has removed its entries, except those that another rule declares. Entries that another writer added stay, and the message counts them.",
    action: "Delete the rule, or give it a later `spec.expiresAt`.",
  },
  CapacityExceeded: {
    on: { Synced: no },
    meaning:
      "More entries are declared than the WAF accepts (`maxEntries` of the list). wafsync leaves out those of the lowest priority first, then the most recently declared ones.",
    action:
      "Remove entries, set `aggregate: true` on rules with many addresses, give the rules that matter most a higher `spec.priority`, or raise `maxEntries` if the WAF accepts more.",
  },

  // Whether the WAF matches the declared state.
  Synced: {
    on: { Synced: yes },
    meaning:
      "The WAF was read and matches the declared state. An origin counts as added if the API accepted it, or refused it after a call with an unknown outcome or an adoption: `status.state` says which.",
    action: noAction,
  },
  Observed: {
    on: { Synced: no },
    meaning: "The policy is `Observe`: wafsync reports the plan and writes nothing.",
    action: "Review the plan, and set the policy to `Additive` or `Exclusive` to apply it.",
  },
  Contested: {
    on: { Synced: no },
    meaning: "Another writer keeps reverting these changes, so wafsync pauses them with exponential backoff.",
    action: "Find the other writer: a second cluster, a script or a person with the same API key.",
  },
  Blocked: {
    on: { Synced: no },
    meaning:
      "Nothing is written for the instance, because wafsync can't know what it manages: the API key belongs to a different domain than expected, the record of managed entries can't be read, or `wafsync.dev/continues` hands the record to another instance, or names one whose record can't be continued.",
    action:
      "Follow the message. Restore the previous API key, or set `spec.expectedDomain` to the new domain. Restore the WafRecord objects from a backup, or run the newer version that wrote them. Let rules and origins refer to the instance that continues this one, and delete this one.",
  },

  // Removals on hold.
  Held: {
    on: { Synced: no },
    meaning: "Removals are on hold. Additions continue.",
    action: "See the condition `RemovalsHeld` of the instance.",
  },
  TooManyRemovals: {
    on: { RemovalsHeld: yes },
    meaning:
      "The plan removes more entries from one list than `spec.guards` allows at once, and no annotation `wafsync.dev/approve-removals` approves exactly these removals.",
    action:
      "Review the examples in the message. If correct, annotate the instance with `wafsync.dev/approve-removals` and the hash that the message gives.",
  },
  Unconfirmed: {
    on: { RemovalsHeld: yes },
    meaning: "The declared objects could not be read again before the removals.",
    action: "Wait: wafsync retries. If it persists, check the operator's connection to the API server.",
  },
  InventoryUnreadable: {
    on: { RemovalsHeld: yes },
    meaning:
      "The record of managed entries is damaged, was written by a newer version, or is older than the one that the status describes, probably because it was restored from a backup. wafsync removes nothing.",
    action:
      "Restore the newest WafRecord objects from a backup, or run the newer version. If there is no newer record, accept an older one: annotate the instance with `wafsync.dev/approve-removals` and the hash that the message gives.",
  },
  SourceBroken: {
    on: { Synced: no, SourceBroken: yes },
    meaning:
      "A source, an object or a reference can't be read, and counts as declaring what it last declared. Entries or origins stay only because of that.",
    action:
      "Fix what the message names. To let the entries go instead, delete the object or the reference, as the message says.",
  },

  // The API, and the logs of blocked requests.
  ApiUnavailable: {
    on: { Synced: no, LogsForwarded: no },
    meaning:
      "The API can't be used: it is unreachable, returns errors, limits the rate of requests, exceeds the timeout, or its response does not have the documented format or is larger than the operator accepts. Logs can't be read either if the WAF does not exist, or if the instance itself is not in order.",
    action:
      "Wait: wafsync retries. If it persists, check the network, and that `spec.baseUrl` is the URL of the management API. If the API limits the rate, increase `spec.minRequestInterval`. If the message names a limit, ask the administrator to raise `--max-list-entries` or `--max-response-mib`.",
  },
  BadApiKey: {
    on: { Synced: no },
    meaning: "The API rejected the API key, or there is none: its Secret is missing, empty or unreadable.",
    action:
      "Store the correct key in the Secret that `spec.apiKeySecretRef` of the instance names, in the instance's namespace.",
  },
  Rejected: {
    on: { Synced: no },
    meaning: "The API rejected a write. wafsync repeats it after an hour or when the object changes.",
    action: "Read the API's error in the message, and correct or remove the entries or origins that it names.",
  },
  Forwarded: {
    on: { LogsForwarded: ["Unknown", "True"] },
    meaning:
      "The entries that the API returned are forwarded. While older entries are still being read, the message says so.",
    action: "Wait while older entries are still being read. Otherwise, there is nothing to do.",
  },
  TooLarge: {
    on: { LogsForwarded: no },
    meaning: "The WAF returns more logs than one instance may forward. The message names the limit, and when it ends.",
    action:
      "If the WAF really blocks this many requests, ask the administrator to raise `--max-log-rows` or `--max-response-mib`.",
  },
  OutputUnavailable: {
    on: { LogsForwarded: no },
    meaning:
      "The receiver does not accept entries, or the record of forwarded entries can't be read or written. The API keeps the entries, and wafsync forwards them later.",
    action:
      "Wait: wafsync retries. If it persists, check what the message names: the OpenTelemetry collector, the program that reads the operator's stdout, or the operator's permissions for wafrecords.",
  },
  Judged: {
    on: { LogsJudged: ["Unknown", "True"] },
    meaning:
      "The rows that the API returned are judged. `Unknown` until the logs have been read once, which `wafsync plan` and `apply` do not do, and while the object is suspended.",
    action: "Wait until the logs have been read. Otherwise, there is nothing to do.",
  },
  MaxEntriesReached: {
    on: { Incomplete: yes },
    meaning: "The number of listed clients has reached `spec.maxEntries`, so further clients are not listed.",
    action: "Review the listed clients. If they are attackers, raise `spec.maxEntries`, or set `groupBy: Network`.",
  },

  // Cache clears.
  Cleared: {
    on: { Complete: yes },
    meaning:
      "The API has started to clear the cache, for this object or for another one of the same WAF. The message says if this trigger was already handled before, for an object of the same name.",
    action: "Nothing to do; give `spec.trigger` a new value to clear again.",
  },
  Failed: {
    on: { Failed: yes },
    meaning:
      "The API rejected the API key or the clear, more attempts failed than `spec.backoffLimit` allows, or the job took longer than `spec.activeDeadlineSeconds`.",
    action: "Read the message, fix the cause, and set `spec.trigger` to a new value.",
  },

  // Feeds.
  Fetched: { on: { Fetched: yes }, meaning: "The last fetch returned valid content.", action: noAction },
  Unavailable: {
    on: { Fetched: no },
    meaning:
      "The content of the feed can't be fetched: the source is unreachable, limits the rate, rejects the credentials or returns an error, a Secret is missing, the URL is not allowed, or the response is not a list.",
    action:
      "Wait: the fetch is retried. If it persists, correct what the message names in `spec.http`, `spec.crowdsec` or the Secret. For internal URLs, ask the administrator about `--allow-private-feeds`.",
  },
  ContentOnHold: {
    on: { Fetched: no },
    meaning: "A guard of the feed put new content on hold.",
    action:
      "Review the content. If correct, annotate the feed with `wafsync.dev/accept-feed` and the hash in `status.held.hash`.",
  },
  NotConfirmed: {
    on: { Stale: yes },
    meaning: "The last successful fetch was too long ago.",
    action: "See the condition `Fetched`, or suspend the feed.",
  },
} as const satisfies Record<string, ReasonFact>;

type Reasons = typeof reasonFacts;
type OwnReason<Type extends ConditionType> = {
  [Reason in keyof Reasons]: Type extends keyof Reasons[Reason]["on"] ? Reason : never;
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
