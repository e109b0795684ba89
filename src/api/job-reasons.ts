// How the cache clears and the forwarding of logs went.
import { type ConditionFact, noAction } from "./condition-fact.ts";

export const completeFact = {
  kinds: ["WafCacheClear"],
  polarity: "NormalTrue",
  meaning: "The cache was cleared for the current `spec.trigger`.",
  repeats: [],
  repeatedStatuses: [],
  reasons: {
    Cleared: { statuses: ["True"], meaning: "The API has started to clear the cache.", action: noAction },
    Coalesced: {
      statuses: ["True"],
      meaning: "The clear of another object, for which this one was waiting too, has done it.",
      action: noAction,
    },
    AlreadyHandled: {
      statuses: ["True"],
      meaning: "This trigger was handled before, for an object of the same name.",
      action: "Nothing to do; give `spec.trigger` a new value to clear again.",
    },
    Waiting: { statuses: ["False"], meaning: "Its turn has not come yet.", action: "Wait." },
    Running: {
      statuses: ["False"],
      meaning: "An attempt is under way, or the next one is waited for.",
      action: "Wait.",
    },
    Suspended: {
      statuses: ["False"],
      meaning: "This object or its instance is suspended.",
      action: "Set `spec.suspend` to false.",
    },
    Failed: { statuses: ["False"], meaning: "It was given up.", action: "See the condition `Failed`." },
  },
} as const satisfies ConditionFact;

export const failedFact = {
  kinds: ["WafCacheClear"],
  polarity: "AbnormalTrue",
  meaning: "The cache was not cleared for the current `spec.trigger`, and it is not tried again.",
  repeats: [],
  repeatedStatuses: [],
  reasons: {
    BackoffLimitExceeded: {
      statuses: ["True"],
      meaning: "More attempts failed than `spec.backoffLimit` allows.",
      action: "Read the message, mend the cause, and give `spec.trigger` a new value.",
    },
    DeadlineExceeded: {
      statuses: ["True"],
      meaning: "It took longer than `spec.activeDeadlineSeconds`.",
      action: "Read the message, mend the cause, and give `spec.trigger` a new value.",
    },
    BadApiKey: {
      statuses: ["True"],
      meaning: "The API refuses the key.",
      action: "Put the right key into the instance's Secret, and give `spec.trigger` a new value.",
    },
    MissingApiKey: {
      statuses: ["True"],
      meaning: "The API says that it was sent no key.",
      action: "Create the instance's Secret, and give `spec.trigger` a new value.",
    },
    DomainChanged: {
      statuses: ["True"],
      meaning: "The key belongs to another domain than expected.",
      action: "Correct the key or `spec.expectedDomain` of the instance, and give `spec.trigger` a new value.",
    },
    Rejected: {
      statuses: ["True"],
      meaning: "The API refused the clear.",
      action: "Read the API's words in the message, mend the cause, and give `spec.trigger` a new value.",
    },
  },
} as const satisfies ConditionFact;

export const logsForwardedFact = {
  kinds: ["WafInstance"],
  polarity: "NormalTrue",
  meaning: "New blocked requests are handed on. Only there while `spec.logs.enabled` is true.",
  repeats: [],
  repeatedStatuses: [],
  reasons: {
    Forwarded: { statuses: ["True"], meaning: "All that the API shows has been handed on.", action: noAction },
    CatchingUp: { statuses: ["Unknown", "True"], meaning: "Older entries are still being read.", action: "Wait." },
    ApiUnavailable: {
      statuses: ["False"],
      meaning: "The logs can't be read: the API can't be reached or answers with errors.",
      action: "Usually wait, it is tried again.",
    },
    UnexpectedAnswer: {
      statuses: ["False"],
      meaning: "The API answered in a shape that is not the documented one.",
      action: "Check `spec.baseUrl`, and whether a proxy answers in its place.",
    },
    TooLarge: {
      statuses: ["False"],
      meaning: "A page of logs is larger than the operator reads.",
      action: "Ask who runs the operator about `--max-response-mib`.",
    },
    RateLimited: { statuses: ["False"], meaning: "The API asked to slow down.", action: "Wait." },
    BadApiKey: {
      statuses: ["False"],
      meaning: "The API refuses the key.",
      action: "Put the right key into the Secret that `spec.apiKeySecretRef` names.",
    },
    MissingApiKey: {
      statuses: ["False"],
      meaning: "There is no key.",
      action: "Create the Secret that `spec.apiKeySecretRef` names.",
    },
    Rejected: {
      statuses: ["False"],
      meaning: "The API refused the query.",
      action: "Read the API's words in the message.",
    },
    NoWaf: {
      statuses: ["False"],
      meaning: "The API says that the account has no WAF, so there are no logs.",
      action: "Check with the provider, or set `spec.logs.enabled` to false.",
    },
    BaseUrlNotAllowed: {
      statuses: ["False"],
      meaning: "The operator may not call this base URL.",
      action: "Correct `spec.baseUrl`, or ask who runs the operator to allow it.",
    },
    Conflict: {
      statuses: ["False"],
      meaning: "An older instance has the same API key, and forwards the entries.",
      action: "Delete one of the two, or give this one the key of another WAF.",
    },
    CursorUnavailable: {
      statuses: ["False"],
      meaning: "What was forwarded can't be read or recorded, so nothing more is forwarded.",
      action: "Usually wait, it is tried again. If it stays, check the operator's rights on wafrecords.",
    },
    OutputUnavailable: {
      statuses: ["False"],
      meaning: "The receiver takes no entries. They are kept at the API, and handed on later.",
      action:
        "Check the OpenTelemetry collector that the operator was told to use, or who reads the operator's standard output.",
    },
  },
} as const satisfies ConditionFact;
