// How the WAF compares with what is declared, and why they differ.
import { type ConditionFact, noAction } from "./condition-fact.ts";

export const syncedFact = {
  kinds: ["WafInstance", "WafIpRule", "WafOrigin"],
  polarity: "NormalTrue",
  meaning: "The WAF is as this object declares.",
  repeats: [],
  repeatedStatuses: [],
  reasons: {
    Synced: { statuses: ["True"], meaning: "The WAF was read, and is as declared.", action: noAction },
    Expired: {
      statuses: ["True"],
      kinds: ["WafIpRule"],
      meaning:
        "The rule has expired. wafsync has removed its entries, except those that another rule wants. Entries that another writer added stay, and the message counts them.",
      action: "Delete the rule, or give it a later `spec.expiresAt`.",
    },
    Observed: {
      statuses: ["True", "False", "Unknown"],
      meaning: "The policy is `Observe`: the plan is reported, nothing is written.",
      action: "Look at the plan, and choose `Additive` or `Exclusive` when it is what you want.",
    },
    Syncing: {
      statuses: ["False", "Unknown"],
      meaning: "Changes are being written, one call after another.",
      action: "Wait: the message says how fast it goes and how long it still takes.",
    },
    Pending: {
      statuses: ["False", "Unknown"],
      meaning: "The first look at the WAF, or the turn of this object, is still to come.",
      action: "Wait.",
    },
    Rejected: {
      statuses: ["False"],
      meaning: "The API refused some of the writes. They are tried again after an hour or when the object changes.",
      action: "Read the API's words in the status, and correct or remove what they are about.",
    },
    Held: {
      statuses: ["False"],
      meaning: "Removals are held back. Additions go on.",
      action: "See the condition `RemovalsHeld` of the instance.",
    },
    ApiUnavailable: {
      statuses: ["False"],
      meaning: "The API can't be reached, answers with errors, or answers too late.",
      action: "Usually wait, it is tried again. If it stays, check `spec.baseUrl` and the way to it.",
    },
    UnexpectedAnswer: {
      statuses: ["False"],
      meaning: "The API answered in a shape that is not the documented one. Nothing is written on such ground.",
      action: "Check that `spec.baseUrl` is the management API, and that no proxy answers in its place.",
    },
    TooLarge: {
      statuses: ["False"],
      meaning: "The WAF shows more than the operator reads of one instance, so nothing is written.",
      action:
        "Shorten the list that the message names, or ask who runs the operator about `--max-list-entries` and `--max-response-mib`.",
    },
    RateLimited: {
      statuses: ["False"],
      meaning: "The API asked to slow down. It is tried again when the API said.",
      action: "Wait. If it stays, set `spec.minRequestInterval`.",
    },
    BadApiKey: {
      statuses: ["False"],
      meaning: "The API refuses the key.",
      action: "Put the right key into the Secret that `spec.apiKeySecretRef` of the instance names.",
    },
    MissingApiKey: {
      statuses: ["False"],
      meaning: "There is no key: the Secret or its entry is missing, empty or not readable.",
      action: "Create the Secret that `spec.apiKeySecretRef` of the instance names, in the instance's namespace.",
    },
    DomainChanged: {
      statuses: ["False"],
      meaning: "The key belongs to another domain than expected. Nothing is written.",
      action: "Put the old key back, or set `spec.expectedDomain` of the instance to the new domain.",
    },
    Continued: {
      statuses: ["False"],
      meaning:
        "Another WafInstance continues this one by the annotation `wafsync.dev/continues`. Nothing is written for this one.",
      action:
        "Let rules and origins refer to the other instance, and delete this one. Nothing is removed from the WAF by that.",
    },
    NotContinued: {
      statuses: ["False"],
      meaning: "The record of the instance that `wafsync.dev/continues` names can't be taken over. Nothing is written.",
      action: "Correct what the message names, or remove the annotation to begin with an empty record.",
    },
    Suspended: {
      statuses: ["False", "Unknown"],
      meaning: "The instance is suspended: it is read, and nothing is written.",
      action: "Set `spec.suspend` of the instance to false to go on.",
    },
    InventoryUnreadable: {
      statuses: ["False"],
      meaning:
        "The record of what wafsync added is damaged or was written by a newer version. Nothing is written until it can be read.",
      action: "Restore the WafRecord objects from a backup, or run the newer version.",
    },
    Contested: {
      statuses: ["False"],
      meaning: "Another writer keeps reverting these changes, so wafsync pauses for a growing time.",
      action: "Find the other writer: a second cluster, a script or a person with the same key.",
    },
    PrimaryOrigin: {
      statuses: ["True", "False"],
      kinds: ["WafInstance", "WafOrigin"],
      meaning: "The origin is the WAF's current primary. It is not added again, and its removal waits.",
      action: "To remove it, make another host the primary first.",
    },
  },
} as const satisfies ConditionFact;

export const removalsHeldFact = {
  kinds: ["WafInstance"],
  polarity: "AbnormalTrue",
  meaning: "Removals that the plan asks for are not carried out. Additions go on.",
  repeats: [],
  repeatedStatuses: [],
  reasons: {
    TooManyRemovals: {
      statuses: ["True"],
      meaning: "The plan removes more from one list than `spec.guards` allows at once.",
      action:
        "Look at the examples in the message. If they are right, annotate the instance with `wafsync.dev/approve-removals` and the hash that the message gives.",
    },
    SourceBroken: {
      statuses: ["True"],
      meaning:
        "Something that declares entries or origins can't be read, or is attached to no instance. Removals of what it may still want are on hold, and no others.",
      action:
        "Fix what the message names. If the removals are right all the same, annotate the instance with `wafsync.dev/approve-removals` and the hash that the message gives.",
    },
    ApprovalMismatch: {
      statuses: ["True"],
      meaning:
        "Removals are on hold, and the annotation `wafsync.dev/approve-removals` does not match them: it was used before, or it names others.",
      action: "Look at the removals again, and write the hash that the message gives.",
    },
    InventoryUnreadable: {
      statuses: ["True"],
      meaning: "The record of what wafsync added can't be read, so what is its own is not known.",
      action: "Restore the WafRecord objects from a backup, or run the newer version.",
    },
  },
} as const satisfies ConditionFact;
