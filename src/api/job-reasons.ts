// The reasons that report cache clears and log forwarding.
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
      meaning: "The call for another object also cleared the cache for this one.",
      action: noAction,
    },
    AlreadyHandled: {
      statuses: ["True"],
      meaning: "This trigger was handled before, for an object of the same name.",
      action: "Nothing to do; give `spec.trigger` a new value to clear again.",
    },
    Waiting: { statuses: ["False"], meaning: "The clear is queued.", action: "Wait." },
    Running: {
      statuses: ["False"],
      meaning: "An attempt is running, or wafsync is waiting to start the next one.",
      action: "Wait.",
    },
    Suspended: {
      statuses: ["False"],
      meaning: "This object or its instance is suspended.",
      action: "Set `spec.suspend` to false.",
    },
    Failed: { statuses: ["False"], meaning: "All attempts failed.", action: "See the condition `Failed`." },
  },
} as const satisfies ConditionFact;

export const failedFact = {
  kinds: ["WafCacheClear"],
  polarity: "AbnormalTrue",
  meaning: "The cache was not cleared for the current `spec.trigger`, and wafsync does not try again.",
  repeats: [],
  repeatedStatuses: [],
  reasons: {
    BackoffLimitExceeded: {
      statuses: ["True"],
      meaning: "More attempts failed than `spec.backoffLimit` allows.",
      action: "Read the message, fix the cause, and set `spec.trigger` to a new value.",
    },
    DeadlineExceeded: {
      statuses: ["True"],
      meaning: "The job took longer than `spec.activeDeadlineSeconds`.",
      action: "Read the message, fix the cause, and set `spec.trigger` to a new value.",
    },
    BadApiKey: {
      statuses: ["True"],
      meaning: "The API rejected the API key.",
      action: "Correct the API key in the instance's Secret, and set `spec.trigger` to a new value.",
    },
    MissingApiKey: {
      statuses: ["True"],
      meaning: "The API reports that the request had no API key.",
      action: "Create the instance's Secret, and set `spec.trigger` to a new value.",
    },
    DomainChanged: {
      statuses: ["True"],
      meaning: "The API key belongs to a different domain than expected.",
      action: "Correct the API key or `spec.expectedDomain` of the instance, and set `spec.trigger` to a new value.",
    },
    Rejected: {
      statuses: ["True"],
      meaning: "The API rejected the cache clear.",
      action: "Read the API's error in the message, fix the cause, and set `spec.trigger` to a new value.",
    },
  },
} as const satisfies ConditionFact;

export const logsForwardedFact = {
  kinds: ["WafInstance"],
  polarity: "NormalTrue",
  meaning: "New blocked requests are forwarded. Present only while `spec.logs.enabled` is true.",
  repeats: [],
  repeatedStatuses: [],
  reasons: {
    Forwarded: {
      statuses: ["True"],
      meaning: "All entries that the API returned have been forwarded.",
      action: noAction,
    },
    CatchingUp: { statuses: ["Unknown", "True"], meaning: "Older entries are still being read.", action: "Wait." },
    ApiUnavailable: {
      statuses: ["False"],
      meaning: "The logs can't be read: the API is unreachable or returns errors.",
      action: "Wait: wafsync retries.",
    },
    UnexpectedAnswer: {
      statuses: ["False"],
      meaning: "The response of the API does not have the documented format.",
      action: "Check `spec.baseUrl`, and whether a proxy responds instead of the API.",
    },
    TooLarge: {
      statuses: ["False"],
      meaning:
        "A page of logs, the rows or pages of an hour, or the rows of a day exceed a limit of the operator. The message names it and says when forwarding continues.",
      action:
        "Wait. If the WAF really has so many blocked requests, ask the administrator to raise `--max-log-rows` or `--max-response-mib`.",
    },
    RateLimited: { statuses: ["False"], meaning: "The API limits the rate of requests.", action: "Wait." },
    BadApiKey: {
      statuses: ["False"],
      meaning: "The API rejected the API key.",
      action: "Correct the API key in the Secret that `spec.apiKeySecretRef` names.",
    },
    MissingApiKey: {
      statuses: ["False"],
      meaning: "There is no API key.",
      action: "Create the Secret that `spec.apiKeySecretRef` names.",
    },
    Rejected: {
      statuses: ["False"],
      meaning: "The API rejected the query.",
      action: "Read the API's error in the message.",
    },
    NoWaf: {
      statuses: ["False"],
      meaning: "The API reports that the account has no WAF, so there are no logs.",
      action: "Check with the provider, or set `spec.logs.enabled` to false.",
    },
    BaseUrlNotAllowed: {
      statuses: ["False"],
      meaning: "The operator must not call this base URL.",
      action: "Correct `spec.baseUrl`, or ask the administrator to allow it.",
    },
    Conflict: {
      statuses: ["False"],
      meaning: "An older instance with the same API key forwards the entries.",
      action: "Delete one of the two instances, or give this one the API key of a different WAF.",
    },
    CursorUnavailable: {
      statuses: ["False"],
      meaning: "The record of forwarded entries can't be read or written, so nothing is forwarded.",
      action: "Wait: wafsync retries. If it persists, check the operator's permissions for wafrecords.",
    },
    OutputUnavailable: {
      statuses: ["False"],
      meaning: "The receiver does not accept entries. The API keeps them, and wafsync forwards them later.",
      action: "Check the OpenTelemetry collector, or the program that reads the operator's stdout.",
    },
  },
} as const satisfies ConditionFact;
