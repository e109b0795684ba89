// How the fetches of feeds went.
import { type ConditionFact, noAction } from "./condition-fact.ts";

export const fetchedFact = {
  kinds: ["WafFeed"],
  polarity: "NormalTrue",
  meaning: "The source gave content that counts. While it is `False`, the last good content still counts.",
  repeats: [],
  repeatedStatuses: [],
  reasons: {
    Fetched: { statuses: ["True"], meaning: "The last fetch brought good content.", action: noAction },
    Pending: { statuses: ["Unknown"], meaning: "The source has not been asked yet.", action: "Wait a moment." },
    Suspended: {
      statuses: ["Unknown"],
      meaning: "The feed is suspended.",
      action: "Set `spec.suspend` to false.",
    },
    Unavailable: {
      statuses: ["False"],
      meaning: "The source cannot be reached, answered with an error, or its answer was cut off.",
      action: "Usually wait: the fetch is retried. If it stays, check the URL of the feed.",
    },
    RateLimited: { statuses: ["False"], meaning: "The source asked to slow down.", action: "Wait." },
    UrlNotAllowed: {
      statuses: ["False"],
      meaning: "The URL of the feed, or one that it redirects to, may not be fetched.",
      action: "Use a public https URL, or ask who runs the operator about `--allow-private-feeds`.",
    },
    NotAList: {
      statuses: ["False"],
      meaning: "The answer is not a list: a page, nothing at all, too much, or a text in another format.",
      action: "Open the URL, and correct `spec.http`.",
    },
    ContentOnHold: {
      statuses: ["False"],
      meaning: "A guard of the feed put new content on hold.",
      action:
        "Look at the list. If it is right, annotate the feed with `wafsync.dev/accept-feed` and the hash in `status.held.hash`.",
    },
    MissingSecret: {
      statuses: ["False"],
      meaning: "A Secret that the feed refers to is missing.",
      action: "Create the Secret, or correct its name and key.",
    },
    BadApiKey: {
      statuses: ["False"],
      meaning: "The source refuses the credentials.",
      action: "Put the right value into the Secret that the feed refers to.",
    },
  },
} as const satisfies ConditionFact;

export const staleFact = {
  kinds: ["WafFeed"],
  polarity: "AbnormalTrue",
  meaning: "The source has not confirmed the content for longer than `spec.staleAfter`. The content still counts.",
  repeats: [],
  repeatedStatuses: [],
  reasons: {
    NotConfirmed: {
      statuses: ["True"],
      meaning: "The last good answer of the source is too old.",
      action: "See why the fetches fail in the condition `Fetched`, or suspend the feed.",
    },
  },
} as const satisfies ConditionFact;
