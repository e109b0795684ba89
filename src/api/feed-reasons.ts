// The reasons that report the fetches of a feed.
import { type ConditionFact, noAction } from "./condition-fact.ts";

export const fetchedFact = {
  kinds: ["WafFeed"],
  polarity: "NormalTrue",
  meaning: "The last fetch returned valid content. While `False`, rules continue to use the last good content.",
  repeats: [],
  repeatedStatuses: [],
  reasons: {
    Fetched: { statuses: ["True"], meaning: "The last fetch returned valid content.", action: noAction },
    Pending: { statuses: ["Unknown"], meaning: "The feed has not been fetched yet.", action: "Wait a moment." },
    Suspended: {
      statuses: ["Unknown"],
      meaning: "The feed is suspended.",
      action: "Set `spec.suspend` to false.",
    },
    Unused: {
      statuses: ["Unknown"],
      meaning: "No rule that is attached to an instance uses the feed, so the operator does not fetch it.",
      action: "Refer to the feed in `spec.addressesFrom` of a `WafIpRule`, or delete it.",
    },
    Unavailable: {
      statuses: ["False"],
      meaning: "The source is unreachable, returned an error, or the response was truncated.",
      action: "Wait: the fetch is retried. If it persists, check the URL of the feed.",
    },
    RateLimited: { statuses: ["False"], meaning: "The source limits the rate of requests.", action: "Wait." },
    UrlNotAllowed: {
      statuses: ["False"],
      meaning: "The URL of the feed, or a URL that it redirects to, is not allowed.",
      action: "Use a public https URL, or ask the administrator about `--allow-private-feeds`.",
    },
    NotAList: {
      statuses: ["False"],
      meaning: "The response is not a list: it is an HTML page, empty, too large, or in a different format.",
      action: "Check what the URL returns, and correct `spec.http`.",
    },
    ContentOnHold: {
      statuses: ["False"],
      meaning: "A guard of the feed put new content on hold.",
      action:
        "Review the content. If correct, annotate the feed with `wafsync.dev/accept-feed` and the hash in `status.held.hash`.",
    },
    MissingSecret: {
      statuses: ["False"],
      meaning: "A Secret that the feed refers to is missing.",
      action: "Create the Secret, or correct its name and key.",
    },
    BadApiKey: {
      statuses: ["False"],
      meaning: "The source rejected the credentials.",
      action: "Correct the value in the Secret that the feed refers to.",
    },
  },
} as const satisfies ConditionFact;

export const staleFact = {
  kinds: ["WafFeed"],
  polarity: "AbnormalTrue",
  meaning:
    "The source has not confirmed the content for longer than `spec.staleAfter`. Rules continue to use the content.",
  repeats: [],
  repeatedStatuses: [],
  reasons: {
    NotConfirmed: {
      statuses: ["True"],
      meaning: "The last successful fetch was too long ago.",
      action: "See the condition `Fetched`, or suspend the feed.",
    },
  },
} as const satisfies ConditionFact;
