// Why an object is attached to its instance and taken as valid, or is not.
import { type ConditionFact, noAction } from "./condition-fact.ts";

export const acceptedFact = {
  kinds: ["WafInstance", "WafIpRule", "WafOrigin", "WafCacheClear", "WafFeed"],
  polarity: "NormalTrue",
  meaning: "The object is valid and, unless it is the instance itself, attached to its instance.",
  repeats: [],
  repeatedStatuses: [],
  reasons: {
    Accepted: {
      statuses: ["True"],
      meaning: "All of it is valid and counts, except for entries of feeds that the message of a rule names.",
      action: noAction,
    },
    Pending: { statuses: ["Unknown"], meaning: "It has not been looked at yet.", action: "Wait a moment." },
    InstanceNotFound: {
      statuses: ["False"],
      kinds: ["WafIpRule", "WafOrigin", "WafCacheClear"],
      meaning: "There is no WafInstance with the name in `spec.instanceRef`.",
      action: "Create the WafInstance, or create the object again with the right name and namespace.",
    },
    InstanceDeleting: {
      statuses: ["False"],
      kinds: ["WafIpRule", "WafOrigin", "WafCacheClear"],
      meaning: "The WafInstance that `spec.instanceRef` names is being deleted.",
      action: "Wait until it is gone, and create it again if it is still needed.",
    },
    NotAllowed: {
      statuses: ["False"],
      kinds: ["WafIpRule", "WafOrigin", "WafCacheClear"],
      meaning: "The instance grants no access to this namespace.",
      action:
        "Ask the owner of the instance to add this namespace to its `spec.access`, or to label it as that asks for.",
    },
    NotGranted: {
      statuses: ["False"],
      kinds: ["WafIpRule", "WafOrigin", "WafCacheClear"],
      meaning:
        "The instance grants access to this namespace, but not what the object is or does; the message says what is missing.",
      action: "Ask the owner of the instance to grant it in `spec.access`, or take it out of the object.",
    },
    QuotaExceeded: {
      statuses: ["False"],
      kinds: ["WafIpRule"],
      meaning:
        "The rules of this namespace have more entries than the instance grants. Those in `status.rejected` are not applied.",
      action: "Remove entries, or ask the owner of the instance to raise `maxEntries` in its `spec.access`.",
    },
    InvalidEntries: {
      statuses: ["False"],
      kinds: ["WafIpRule"],
      meaning: "Some entries are no address or network that can be read without doubt. All others count.",
      action: "Correct the entries in `status.rejected`; each comes with what to write.",
    },
    InvalidSpec: {
      statuses: ["False"],
      meaning: "The object has fields or values that this version of wafsync does not understand.",
      action: "Correct the fields that the message names. What the object owned stays as it is until then.",
    },
    Conflict: {
      statuses: ["False"],
      meaning:
        "Another object says otherwise, and counts: the same entry on the other list, which holds it already or whose rule is older; the same origin with another type in an older object; or an older instance with the same key.",
      action: "Agree on one of the two, and delete or change the other.",
    },
    GuardRejected: {
      statuses: ["False"],
      kinds: ["WafIpRule"],
      meaning:
        "Some entries are wider than the guards of the instance allow, overlap a special-purpose network, or would block a network that must stay reachable. All others count.",
      action:
        "Change the entries in `status.rejected`; each comes with what to write. Or ask the owner of the instance to change `spec.guards`.",
    },
    NoEntries: {
      statuses: ["False"],
      kinds: ["WafIpRule"],
      meaning:
        "The rule declares no entries: neither `spec.addresses` nor a ConfigMap of `spec.addressesFrom` has any.",
      action: "Write addresses or networks into one of them, or delete the rule.",
    },
    SourceMissing: {
      statuses: ["False"],
      kinds: ["WafIpRule"],
      meaning:
        "A ConfigMap or a feed of `spec.addressesFrom` can't be read, or the feed has no content yet. Entries that came from it stay on the list.",
      action:
        "Create the ConfigMap or the WafFeed, or correct the reference. For a feed without content, see its status.",
    },
    TooLarge: {
      statuses: ["False"],
      kinds: ["WafIpRule"],
      meaning:
        "The ConfigMaps of `spec.addressesFrom` are more than wafsync reads for one rule, one namespace or one instance; the message says how much they are. None of their entries count, and those that came from them stay on the list.",
      action: "Remove lines or ConfigMaps, or move them to another instance.",
    },
    BaseUrlNotAllowed: {
      statuses: ["False"],
      kinds: ["WafInstance"],
      meaning:
        "The operator may not call this base URL: it is not https, not among its allowed base URLs, or an address of an inner network.",
      action:
        "Use an allowed https URL, or ask who runs the operator about `--allowed-base-urls`, `--allow-private-networks` and `--allow-insecure-http`.",
    },
  },
} as const satisfies ConditionFact;
