// The reasons why an object is accepted (valid and attached to its instance) or rejected.
import { type ConditionFact, noAction } from "./condition-fact.ts";

export const acceptedFact = {
  kinds: ["WafInstance", "WafIpRule", "WafOrigin", "WafCacheClear", "WafFeed", "WafAutoBlock"],
  polarity: "NormalTrue",
  meaning: "The object is valid and, unless it is the instance itself, attached to its instance.",
  repeats: [],
  repeatedStatuses: [],
  reasons: {
    Accepted: {
      statuses: ["True"],
      meaning: "The object is valid and in effect. If a rule skips entries of a feed, its message says so.",
      action: noAction,
    },
    Pending: { statuses: ["Unknown"], meaning: "The object has not been processed yet.", action: "Wait a moment." },
    InstanceNotFound: {
      statuses: ["False"],
      kinds: ["WafIpRule", "WafOrigin", "WafCacheClear", "WafAutoBlock"],
      meaning: "There is no WafInstance with the name in `spec.instanceRef`.",
      action: "Create the WafInstance, or recreate the object with the correct name and namespace.",
    },
    InstanceDeleting: {
      statuses: ["False"],
      kinds: ["WafIpRule", "WafOrigin", "WafCacheClear", "WafAutoBlock"],
      meaning: "The WafInstance that `spec.instanceRef` names is being deleted.",
      action: "Wait until it is deleted, then recreate it if you still need it.",
    },
    NotAllowed: {
      statuses: ["False"],
      kinds: ["WafIpRule", "WafOrigin", "WafCacheClear", "WafAutoBlock"],
      meaning: "The instance grants no access to this namespace.",
      action:
        "Ask the owner of the instance to add this namespace to `spec.access`, or add the labels that its selector requires.",
    },
    NotGranted: {
      statuses: ["False"],
      kinds: ["WafIpRule", "WafOrigin", "WafCacheClear", "WafAutoBlock"],
      meaning:
        "The instance does not grant this namespace the kind or action of the object. The message names the missing grant.",
      action: "Ask the owner of the instance to extend `spec.access`, or remove that part from the object.",
    },
    QuotaExceeded: {
      statuses: ["False"],
      kinds: ["WafIpRule", "WafAutoBlock"],
      meaning:
        "The rules of this namespace have more entries than the instance grants. Entries in `status.rejected` are not applied.",
      action: "Remove entries, or ask the owner of the instance to raise `maxEntries` in its `spec.access`.",
    },
    InvalidEntries: {
      statuses: ["False"],
      kinds: ["WafIpRule"],
      meaning: "Some entries are not valid, unambiguous addresses or networks. All other entries are applied.",
      action: "Correct the entries in `status.rejected`. Each item says what to write instead.",
    },
    InvalidSpec: {
      statuses: ["False"],
      meaning: "The object has fields or values that this version of wafsync does not understand.",
      action:
        "Correct the fields that the message names. Until then, the entries and origins of the object stay as they are.",
    },
    Conflict: {
      statuses: ["False"],
      meaning:
        "Another object takes precedence: a rule for the other list that already has the same entry or is older, an older object with the same origin and a different type, or an older instance with the same API key.",
      action: "Decide which of the two objects should apply, and change or delete the other one.",
    },
    GuardRejected: {
      statuses: ["False"],
      kinds: ["WafIpRule"],
      meaning:
        "Some entries are wider than the guards of the instance allow, overlap a special-purpose network, or would block a network that must stay reachable. All other entries are applied.",
      action: "Correct the entries in `status.rejected`, or ask the owner of the instance to change `spec.guards`.",
    },
    NoEntries: {
      statuses: ["False"],
      kinds: ["WafIpRule"],
      meaning:
        "The rule declares no entries: neither `spec.addresses` nor the ConfigMaps in `spec.addressesFrom` contain any.",
      action: "Add addresses or networks to one of them, or delete the rule.",
    },
    SourceMissing: {
      statuses: ["False"],
      kinds: ["WafIpRule", "WafAutoBlock"],
      meaning:
        "A ConfigMap or feed in `spec.addressesFrom` can't be read or is still being read, or the feed has no content yet. For a WafAutoBlock, the record of the listed clients can't be read. Entries that came from it stay on the list.",
      action:
        "Create the ConfigMap or WafFeed, or correct the reference. If the feed has no content, check its status. If a ConfigMap is still being read, wait.",
    },
    TooLarge: {
      statuses: ["False"],
      kinds: ["WafIpRule"],
      meaning:
        "The ConfigMaps of a guest namespace are larger than its grant allows. None of their entries are added, and existing ones stay on the list.",
      action: "Remove lines, or ask the owner of the instance to raise `maxEntries` in its `spec.access`.",
    },
    BaseUrlNotAllowed: {
      statuses: ["False"],
      kinds: ["WafInstance"],
      meaning:
        "The operator must not call this base URL: it does not use https, is not one of the allowed base URLs, or is an internal address.",
      action:
        "Use an allowed https URL, or ask the administrator about `--allowed-base-urls`, `--allow-private-networks` and `--allow-insecure-http`.",
    },
  },
} as const satisfies ConditionFact;
