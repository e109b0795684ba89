// The reasons that report whether the WAF matches the declared state and, if not, why.
import { type ConditionFact, noAction } from "./condition-fact.ts";

export const syncedFact = {
  kinds: ["WafInstance", "WafIpRule", "WafOrigin", "WafAutoBlock"],
  polarity: "NormalTrue",
  meaning: "The WAF matches what this object declares.",
  repeats: [],
  repeatedStatuses: [],
  reasons: {
    Synced: { statuses: ["True"], meaning: "The WAF was read and matches the declared state.", action: noAction },
    AddedUnconfirmed: {
      statuses: ["True"],
      kinds: ["WafOrigin"],
      meaning:
        "The API refused to add the origin after a call with an unknown outcome, or the WafOrigin adopts the origin. wafsync counts it as added, but can't verify that: origins can't be read back.",
      action:
        "Check the origin and its type in the WAF's console. If it is missing, delete the WafOrigin and create it again.",
    },
    Expired: {
      statuses: ["True"],
      kinds: ["WafIpRule"],
      meaning:
        "The rule has expired. wafsync has removed its entries, except those that another rule declares. Entries that another writer added stay, and the message counts them.",
      action: "Delete the rule, or give it a later `spec.expiresAt`.",
    },
    Observed: {
      statuses: ["True", "False", "Unknown"],
      meaning: "The policy is `Observe`: wafsync reports the plan and writes nothing.",
      action: "Review the plan, and set the policy to `Additive` or `Exclusive` to apply it.",
    },
    Syncing: {
      statuses: ["False", "Unknown"],
      meaning: "Changes are being written, one call after another.",
      action: "Wait: the message gives the rate and the remaining time.",
    },
    Pending: {
      statuses: ["False", "Unknown"],
      meaning: "The WAF has not been read yet, or the object is queued behind other work.",
      action: "Wait.",
    },
    Rejected: {
      statuses: ["False"],
      meaning: "The API rejected some writes. wafsync retries them after an hour or when the object changes.",
      action: "Read the API's error in the status, and correct or remove the entries or origins that it names.",
    },
    CapacityExceeded: {
      statuses: ["False"],
      kinds: ["WafInstance", "WafIpRule"],
      meaning:
        "More entries are declared than the WAF accepts (`maxEntries` of the list). wafsync leaves out those of the lowest priority first, then the most recently declared ones.",
      action:
        "Remove entries, set `aggregate: true` on rules with many addresses, give the rules that matter most a higher `spec.priority`, or raise `maxEntries` if the WAF accepts more.",
    },
    Held: {
      statuses: ["False"],
      meaning: "Removals are on hold. Additions continue.",
      action: "See the condition `RemovalsHeld` of the instance.",
    },
    ApiUnavailable: {
      statuses: ["False"],
      meaning: "The API is unreachable, returns errors, or exceeds the timeout.",
      action: "Wait: wafsync retries. If it persists, check `spec.baseUrl` and the network.",
    },
    UnexpectedAnswer: {
      statuses: ["False"],
      meaning: "The response of the API does not have the documented format. wafsync writes nothing.",
      action: "Check that `spec.baseUrl` is the URL of the management API, and that no proxy responds instead of it.",
    },
    TooLarge: {
      statuses: ["False"],
      meaning: "The WAF returned more than the operator accepts for one instance, so wafsync writes nothing.",
      action:
        "Shorten the list that the message names, or ask the administrator to raise `--max-list-entries` or `--max-response-mib`.",
    },
    RateLimited: {
      statuses: ["False"],
      meaning: "The API limits the rate of requests. wafsync retries when the API allows it.",
      action: "Wait. If this persists, increase `spec.minRequestInterval`.",
    },
    BadApiKey: {
      statuses: ["False"],
      meaning: "The API rejected the API key.",
      action: "Correct the API key in the Secret that `spec.apiKeySecretRef` of the instance names.",
    },
    MissingApiKey: {
      statuses: ["False"],
      meaning: "There is no API key: the Secret or its entry is missing, empty or unreadable.",
      action: "Create the Secret that `spec.apiKeySecretRef` of the instance names, in the instance's namespace.",
    },
    DomainChanged: {
      statuses: ["False"],
      meaning: "The API key belongs to a different domain than expected. wafsync writes nothing.",
      action: "Restore the previous API key, or set `spec.expectedDomain` of the instance to the new domain.",
    },
    Continued: {
      statuses: ["False"],
      meaning:
        "Another WafInstance continues this one with the annotation `wafsync.dev/continues`. wafsync writes nothing for this one.",
      action:
        "Change the rules and origins to refer to the other instance, and delete this one. This removes nothing from the WAF.",
    },
    NotContinued: {
      statuses: ["False"],
      meaning:
        "The record of the instance that `wafsync.dev/continues` names can't be continued. wafsync writes nothing.",
      action: "Fix the problem that the message names, or remove the annotation to start with an empty record.",
    },
    Suspended: {
      statuses: ["False", "Unknown"],
      meaning: "The instance is suspended: wafsync reads the WAF and writes nothing.",
      action: "Set `spec.suspend` of the instance to false to resume.",
    },
    InventoryUnreadable: {
      statuses: ["False"],
      meaning:
        "The record of managed entries is damaged or was written by a newer version. wafsync writes nothing until it can read the record.",
      action: "Restore the WafRecord objects from a backup, or run the newer version.",
    },
    Contested: {
      statuses: ["False"],
      meaning: "Another writer keeps reverting these changes, so wafsync pauses them with exponential backoff.",
      action: "Find the other writer: a second cluster, a script or a person with the same API key.",
    },
    PrimaryOrigin: {
      statuses: ["True", "False"],
      kinds: ["WafInstance", "WafOrigin"],
      meaning: "The origin is the WAF's current primary. wafsync does not add it again, and postpones its removal.",
      action: "To remove the origin, make another host the primary first.",
    },
  },
} as const satisfies ConditionFact;

export const removalsHeldFact = {
  kinds: ["WafInstance"],
  polarity: "AbnormalTrue",
  meaning: "Removals in the plan are on hold. Additions continue.",
  repeats: [],
  repeatedStatuses: [],
  reasons: {
    TooManyRemovals: {
      statuses: ["True"],
      meaning: "The plan removes more entries from one list than `spec.guards` allows at once.",
      action:
        "Review the examples in the message. If correct, annotate the instance with `wafsync.dev/approve-removals` and the hash that the message gives.",
    },
    SourceBroken: {
      statuses: ["True"],
      meaning:
        "An object that declares entries or origins can't be read or is not attached to an instance. Only the removals that it could affect are on hold.",
      action:
        "Fix what the message names. If the removals are correct anyway, annotate the instance with `wafsync.dev/approve-removals` and the hash that the message gives.",
    },
    InventoryRestored: {
      statuses: ["True"],
      meaning:
        "The inventory is older than the one that the status describes, probably because it was restored from a backup. wafsync removes nothing.",
      action:
        "Restore the newer inventory. If there is none, accept this one: annotate the instance with `wafsync.dev/approve-removals` and the hash that the message gives.",
    },
    ApprovalMismatch: {
      statuses: ["True"],
      meaning:
        "Removals are on hold, and the annotation `wafsync.dev/approve-removals` does not match them: it was already used, or it approves different removals.",
      action: "Review the removals again, and annotate the instance with the hash that the message gives.",
    },
    InventoryUnreadable: {
      statuses: ["True"],
      meaning: "The record of managed entries can't be read, so wafsync does not know which entries it manages.",
      action: "Restore the WafRecord objects from a backup, or run the newer version.",
    },
  },
} as const satisfies ConditionFact;
