// Every condition that wafsync writes, and every reason that one can have: the published vocabulary, as closed unions. A reason
// means the same in each condition, and says what to do. An unlisted one does not compile, so the reference docs stay complete.
import type { ResourceKind } from "../model/resource.ts";

export const conditionStatuses = ["True", "False", "Unknown"] as const;
export type ConditionStatus = (typeof conditionStatuses)[number];

export interface ConditionFact {
  readonly kinds: readonly ResourceKind[];
  /** Whether `True` is the normal state, or the condition is present only while something is abnormal. */
  readonly polarity: "NormalTrue" | "AbnormalTrue";
  readonly meaning: string;
  /** Conditions that this one summarizes and whose reasons it may repeat, with the values of `status` that it then has. */
  readonly repeats?: readonly string[];
  readonly repeatedStatuses?: readonly ConditionStatus[];
}

export interface ReasonFact {
  /** The conditions that can have this reason, each with the values of `status` that it then has. */
  readonly on: Readonly<Partial<Record<ConditionType, readonly ConditionStatus[]>>>;
  /** What the reason means, as a sentence. */
  readonly meaning: string;
  /** What the user should do, as a sentence. */
  readonly action: string;
}

const attachedKinds = ["WafIpRule", "WafOrigin", "WafAutoBlock"] as const;
const everyKind = ["WafInstance", ...attachedKinds, "WafCacheClear", "WafFeed"] as const;

export const conditionFacts = {
  Ready: {
    kinds: everyKind,
    polarity: "NormalTrue",
    meaning:
      "Summarizes the other conditions: `Unknown` during the first sync, and `False` only after a failure, with the reason and message of the condition that failed.",
    repeats: ["Accepted", "Synced", "Complete", "Failed", "Fetched", "LogsForwarded", "LogsJudged"],
    repeatedStatuses: conditionStatuses,
  },
  Accepted: {
    kinds: everyKind,
    polarity: "NormalTrue",
    meaning: "The object is valid and, unless it is the instance itself, attached to its instance.",
  },
  Synced: {
    kinds: ["WafInstance", ...attachedKinds],
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
    meaning:
      "Entries or origins stay only because something can't be read that last declared them. Present only while it applies.",
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
    repeatedStatuses: ["False", "Unknown"],
  },
  Incomplete: {
    kinds: ["WafAutoBlock"],
    polarity: "AbnormalTrue",
    meaning: "Some clients reached the threshold but are not listed.",
  },
  Reconciling: {
    kinds: everyKind,
    polarity: "AbnormalTrue",
    meaning: "Work on this object is in progress or will be retried. Never present while `Ready` is `True`.",
  },
  Stalled: {
    kinds: everyKind,
    polarity: "AbnormalTrue",
    meaning:
      "Only a change by a person can resolve the problem. The reason and message are those of the condition that failed.",
    repeats: ["Accepted", "Synced", "Failed", "RemovalsHeld", "Fetched", "LogsJudged"],
    repeatedStatuses: ["True"],
  },
} as const satisfies Record<string, ConditionFact>;

export type ConditionType = keyof typeof conditionFacts;
export const conditionTypes = Object.keys(conditionFacts) as readonly ConditionType[];

const yes = ["True"] as const;
const no = ["False"] as const;
const unknown = ["Unknown"] as const;
const notYet = ["False", "Unknown"] as const;
const noAction = "Nothing to do.";

export const reasonFacts = {
  // The object itself.
  Ready: { on: { Ready: yes }, meaning: "The WAF matches the declared state.", action: noAction },
  Progressing: {
    on: { Ready: unknown, Reconciling: yes },
    meaning: "Nothing has failed, but work remains.",
    action: "Wait: the message reports the progress.",
  },
  ProgressingWithRetry: {
    on: { Reconciling: yes },
    meaning: "The last attempt failed, and wafsync will retry automatically.",
    action: "Wait; `Ready` and `Synced` say what failed.",
  },
  Pending: {
    on: { Accepted: unknown, Synced: notYet, Fetched: unknown },
    meaning: "The object has not been processed yet, or is queued behind other work.",
    action: "Wait a moment.",
  },
  Suspended: {
    on: { Synced: notYet, Complete: no, Fetched: unknown, LogsJudged: unknown },
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
    on: { Accepted: no, LogsForwarded: no },
    meaning:
      "Another object takes precedence: a rule for the other list that already has the same entry or is older, an older object with the same origin and a different type, or an older instance with the same API key.",
    action: "Decide which of the two objects should apply, and change or delete the other one.",
  },

  // Its instance, and what the owner of the instance grants.
  InstanceNotFound: {
    on: { Accepted: no },
    meaning: "There is no WafInstance with the name in `spec.instanceRef`.",
    action: "Create the WafInstance, or recreate the object with the correct name and namespace.",
  },
  InstanceDeleting: {
    on: { Accepted: no },
    meaning: "The WafInstance that `spec.instanceRef` names is being deleted.",
    action: "Wait until it is deleted, then recreate it if you still need it.",
  },
  NotAllowed: {
    on: { Accepted: no },
    meaning: "The instance grants no access to this namespace.",
    action:
      "Ask the owner of the instance to add this namespace to `spec.access`, or add the labels that its selector requires.",
  },
  NotGranted: {
    on: { Accepted: no },
    meaning:
      "The instance does not grant this namespace the kind or action of the object. The message names the missing grant.",
    action: "Ask the owner of the instance to extend `spec.access`, or remove that part from the object.",
  },
  QuotaExceeded: {
    on: { Accepted: no },
    meaning:
      "The rules of this namespace have more entries than the instance grants. Entries in `status.rejected` are not applied.",
    action: "Remove entries, or ask the owner of the instance to raise `maxEntries` in its `spec.access`.",
  },

  // The entries of a rule.
  InvalidEntries: {
    on: { Accepted: no },
    meaning: "Some entries are not valid, unambiguous addresses or networks. All other entries are applied.",
    action: "Correct the entries in `status.rejected`. Each item says what to write instead.",
  },
  GuardRejected: {
    on: { Accepted: no },
    meaning:
      "Some entries are wider than the guards of the instance allow, overlap a special-purpose network, or would block a network that must stay reachable. All other entries are applied.",
    action: "Correct the entries in `status.rejected`, or ask the owner of the instance to change `spec.guards`.",
  },
  NoEntries: {
    on: { Accepted: no },
    meaning:
      "The rule declares no entries: neither `spec.addresses` nor the ConfigMaps in `spec.addressesFrom` contain any.",
    action: "Add addresses or networks to one of them, or delete the rule.",
  },
  SourceMissing: {
    on: { Accepted: no },
    meaning:
      "A ConfigMap or feed in `spec.addressesFrom` can't be read or is still being read, or the feed has no content yet. For a WafAutoBlock, the record of the listed clients can't be read. Entries that came from it stay on the list.",
    action:
      "Create the ConfigMap or WafFeed, or correct the reference. If the feed has no content, check its status. If a ConfigMap is still being read, wait.",
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
  Synced: { on: { Synced: yes }, meaning: "The WAF was read and matches the declared state.", action: noAction },
  Observed: {
    on: { Synced: conditionStatuses },
    meaning: "The policy is `Observe`: wafsync reports the plan and writes nothing.",
    action: "Review the plan, and set the policy to `Additive` or `Exclusive` to apply it.",
  },
  Syncing: {
    on: { Synced: notYet },
    meaning: "Changes are being written, one call after another.",
    action: "Wait: the message gives the rate and the remaining time.",
  },
  Contested: {
    on: { Synced: no },
    meaning: "Another writer keeps reverting these changes, so wafsync pauses them with exponential backoff.",
    action: "Find the other writer: a second cluster, a script or a person with the same API key.",
  },
  PrimaryOrigin: {
    on: { Synced: ["True", "False"] },
    meaning: "The origin is the WAF's current primary. wafsync does not add it again, and postpones its removal.",
    action: "To remove the origin, make another host the primary first.",
  },
  AddedUnconfirmed: {
    on: { Synced: yes },
    meaning:
      "The API refused to add the origin after a call with an unknown outcome, or the WafOrigin adopts the origin. wafsync counts it as added, but can't verify that: origins can't be read back.",
    action:
      "Check the origin and its type in the WAF's console. If it is missing, delete the WafOrigin and create it again.",
  },
  Continued: {
    on: { Synced: no },
    meaning:
      "Another WafInstance continues this one with the annotation `wafsync.dev/continues`. wafsync writes nothing for this one.",
    action:
      "Change the rules and origins to refer to the other instance, and delete this one. This removes nothing from the WAF.",
  },
  NotContinued: {
    on: { Synced: no },
    meaning:
      "The record of the instance that `wafsync.dev/continues` names can't be continued. wafsync writes nothing.",
    action: "Fix the problem that the message names, or remove the annotation to start with an empty record.",
  },
  InventoryUnreadable: {
    on: { Synced: no, RemovalsHeld: yes },
    meaning:
      "The record of managed entries is damaged or was written by a newer version. wafsync writes nothing until it can read the record.",
    action: "Restore the WafRecord objects from a backup, or run the newer version.",
  },

  // Removals on hold.
  Held: {
    on: { Synced: no },
    meaning: "Removals are on hold. Additions continue.",
    action: "See the condition `RemovalsHeld` of the instance.",
  },
  TooManyRemovals: {
    on: { RemovalsHeld: yes },
    meaning: "The plan removes more entries from one list than `spec.guards` allows at once.",
    action:
      "Review the examples in the message. If correct, annotate the instance with `wafsync.dev/approve-removals` and the hash that the message gives.",
  },
  Unconfirmed: {
    on: { RemovalsHeld: yes },
    meaning: "The declared objects could not be read again before the removals.",
    action: "Wait: wafsync retries. If it persists, check the operator's connection to the API server.",
  },
  SourceBroken: {
    on: { Synced: no, SourceBroken: yes },
    meaning:
      "A source, an object or a reference can't be read, and counts as declaring what it last declared. Entries or origins stay only because of that.",
    action:
      "Fix what the message names. To let the entries go instead, delete the object or the reference, as the message says.",
  },
  InventoryRestored: {
    on: { RemovalsHeld: yes },
    meaning:
      "The inventory is older than the one that the status describes, probably because it was restored from a backup. wafsync removes nothing.",
    action:
      "Restore the newer inventory. If there is none, accept this one: annotate the instance with `wafsync.dev/approve-removals` and the hash that the message gives.",
  },
  ApprovalMismatch: {
    on: { RemovalsHeld: yes },
    meaning:
      "Removals are on hold, and the annotation `wafsync.dev/approve-removals` does not match them: it was already used, or it approves different removals.",
    action: "Review the removals again, and annotate the instance with the hash that the message gives.",
  },

  // The API, or the source of a feed.
  ApiUnavailable: {
    on: { Synced: no, LogsForwarded: no },
    meaning: "The API is unreachable, returns errors, or exceeds the timeout.",
    action: "Wait: wafsync retries. If it persists, check `spec.baseUrl` and the network.",
  },
  UnexpectedAnswer: {
    on: { Synced: no, LogsForwarded: no },
    meaning: "The response of the API does not have the documented format. wafsync writes nothing.",
    action: "Check that `spec.baseUrl` is the URL of the management API, and that no proxy responds instead of it.",
  },
  TooLarge: {
    on: { Accepted: no, Synced: no, LogsForwarded: no },
    meaning:
      "The WAF returned more than the operator accepts for one instance, or the ConfigMaps of a guest namespace are larger than its grant allows. The message names the limit. Existing entries stay on the list, and nothing is added from what is too large.",
    action:
      "Shorten what the message names. Otherwise, ask the administrator to raise `--max-list-entries`, `--max-log-rows` or `--max-response-mib`, or the owner of the instance to raise `maxEntries` in its `spec.access`.",
  },
  RateLimited: {
    on: { Synced: no, LogsForwarded: no, Fetched: no },
    meaning: "The API, or the source of the feed, limits the rate of requests. wafsync retries when it allows that.",
    action: "Wait. If the API keeps limiting an instance, increase `spec.minRequestInterval`.",
  },
  BadApiKey: {
    on: { Synced: no, LogsForwarded: no, Failed: yes, Fetched: no },
    meaning: "The API rejected the API key, or the source of the feed rejected the credentials.",
    action: "Correct the value in the Secret that the instance or the feed refers to.",
  },
  MissingApiKey: {
    on: { Synced: no, LogsForwarded: no, Failed: yes },
    meaning: "There is no API key: the Secret or its entry is missing, empty or unreadable.",
    action: "Create the Secret that `spec.apiKeySecretRef` of the instance names, in the instance's namespace.",
  },
  MissingSecret: {
    on: { Fetched: no },
    meaning: "A Secret that the feed refers to is missing.",
    action: "Create the Secret, or correct its name and key.",
  },
  DomainChanged: {
    on: { Synced: no, Failed: yes },
    meaning: "The API key belongs to a different domain than expected. wafsync writes nothing.",
    action: "Restore the previous API key, or set `spec.expectedDomain` of the instance to the new domain.",
  },
  Rejected: {
    on: { Synced: no, LogsForwarded: no, Failed: yes },
    meaning:
      "The API rejected a call. wafsync repeats rejected writes after an hour or when the object changes, and never repeats a rejected cache clear.",
    action: "Read the API's error in the message, and correct or remove the entries or origins that it names.",
  },
  BaseUrlNotAllowed: {
    on: { Accepted: no, LogsForwarded: no },
    meaning:
      "The operator must not call this base URL: it does not use https, is not one of the allowed base URLs, or is an internal address.",
    action:
      "Use an allowed https URL, or ask the administrator about `--allowed-base-urls`, `--allow-private-networks` and `--allow-insecure-http`.",
  },

  // The log of blocked requests.
  Forwarded: {
    on: { LogsForwarded: yes },
    meaning: "All entries that the API returned have been forwarded.",
    action: noAction,
  },
  CatchingUp: {
    on: { LogsForwarded: ["Unknown", "True"] },
    meaning: "Older entries are still being read.",
    action: "Wait.",
  },
  NoWaf: {
    on: { LogsForwarded: no },
    meaning: "The API reports that the account has no WAF, so there are no logs.",
    action: "Check with the provider, or set `spec.logs.enabled` to false.",
  },
  CursorUnavailable: {
    on: { LogsForwarded: no },
    meaning: "The record of forwarded entries can't be read or written, so nothing is forwarded.",
    action: "Wait: wafsync retries. If it persists, check the operator's permissions for wafrecords.",
  },
  OutputUnavailable: {
    on: { LogsForwarded: no },
    meaning: "The receiver does not accept entries. The API keeps them, and wafsync forwards them later.",
    action: "Check the OpenTelemetry collector, or the program that reads the operator's stdout.",
  },
  Judged: {
    on: { LogsJudged: yes },
    meaning: "All rows that the API returned have been judged.",
    action: noAction,
  },
  TooManyAutoBlocks: {
    on: { LogsJudged: no },
    meaning:
      "The instance has more WafAutoBlocks than wafsync judges. It judges the oldest, starting with those in the instance's namespace.",
    action: "Merge some of them, or delete those that are not needed.",
  },
  MaxEntriesReached: {
    on: { Incomplete: yes },
    meaning: "The number of listed clients has reached `spec.maxEntries`, so further clients are not listed.",
    action: "Review the listed clients. If they are attackers, raise `spec.maxEntries`, or set `groupBy: Network`.",
  },

  // Cache clears.
  Cleared: { on: { Complete: yes }, meaning: "The API has started to clear the cache.", action: noAction },
  Coalesced: {
    on: { Complete: yes },
    meaning: "The call for another object also cleared the cache for this one.",
    action: noAction,
  },
  AlreadyHandled: {
    on: { Complete: yes },
    meaning: "This trigger was handled before, for an object of the same name.",
    action: "Nothing to do; give `spec.trigger` a new value to clear again.",
  },
  Waiting: {
    on: { Complete: no, LogsJudged: unknown },
    meaning: "The clear is queued, or the logs have not been read yet: `wafsync plan` and `apply` do not read them.",
    action: "Wait; for the logs without a cluster, start `wafsync run`.",
  },
  Running: {
    on: { Complete: no },
    meaning: "An attempt is running, or wafsync is waiting to start the next one.",
    action: "Wait.",
  },
  Failed: { on: { Complete: no }, meaning: "All attempts failed.", action: "See the condition `Failed`." },
  BackoffLimitExceeded: {
    on: { Failed: yes },
    meaning: "More attempts failed than `spec.backoffLimit` allows.",
    action: "Read the message, fix the cause, and set `spec.trigger` to a new value.",
  },
  DeadlineExceeded: {
    on: { Failed: yes },
    meaning: "The job took longer than `spec.activeDeadlineSeconds`.",
    action: "Read the message, fix the cause, and set `spec.trigger` to a new value.",
  },

  // Feeds.
  Fetched: { on: { Fetched: yes }, meaning: "The last fetch returned valid content.", action: noAction },
  Unused: {
    on: { Fetched: unknown },
    meaning: "No rule that is attached to an instance uses the feed, so the operator does not fetch it.",
    action: "Refer to the feed in `spec.addressesFrom` of a `WafIpRule`, or delete it.",
  },
  Unavailable: {
    on: { Fetched: no },
    meaning: "The source is unreachable, returned an error, or the response was truncated.",
    action: "Wait: the fetch is retried. If it persists, check the URL of the feed.",
  },
  UrlNotAllowed: {
    on: { Fetched: no },
    meaning: "The URL of the feed, or a URL that it redirects to, is not allowed.",
    action: "Use a public https URL, or ask the administrator about `--allow-private-feeds`.",
  },
  NotAList: {
    on: { Fetched: no },
    meaning: "The response is not a list: it is an HTML page, empty, too large, or in a different format.",
    action: "Check what the URL returns, and correct `spec.http`.",
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

/** The values of `status` that a condition of this type has with a reason of its own; undefined if it has no such reason. */
export function statusesOf(type: ConditionType, reason: string): readonly ConditionStatus[] | undefined {
  const facts: Readonly<Record<string, ReasonFact>> = reasonFacts;
  return Object.hasOwn(facts, reason) ? facts[reason]?.on[type] : undefined;
}

/** Whether a condition of this type may have this reason with this status. This defines status conformance. */
export function isPublished(type: string, reason: string, status: string): boolean {
  const known = conditionTypes.find((each) => each === type);
  if (known === undefined) return false;
  const own = statusesOf(known, reason);
  if (own !== undefined) return own.some((each) => each === status);
  const { repeats = [], repeatedStatuses = [] }: ConditionFact = conditionFacts[known];
  const isRepeated = repeats.some((other) => statusesOf(other as ConditionType, reason) !== undefined);
  return isRepeated && repeatedStatuses.some((each) => each === status);
}
