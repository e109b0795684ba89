// Summarizes the state of a feed for users: the reason, who has to act next, and a sentence.
import type { DeclaredFeed, FeedGuards } from "../../model/declared-feed.ts";
import {
  acceptAnnotation,
  type FeedFault,
  type FeedState,
  type HeldContent,
  staleAtMs,
  withoutEnded,
} from "./feed-state.ts";
import type { HoldReason } from "./guards.ts";
import { counted } from "../../model/sentence.ts";

export type FetchedReason =
  | "Fetched"
  | "Pending"
  | "Suspended"
  | "Unused"
  | "Unavailable"
  | "RateLimited"
  | "UrlNotAllowed"
  | "NotAList"
  | "ContentOnHold"
  | "MissingSecret"
  | "BadApiKey";

export interface FeedVerdict {
  readonly reason: FetchedReason;
  readonly message: string;
  /**
   * Who has to act next: nobody, wafsync (for the first time, or again), a user, or the user who suspended the feed. `Nothing`:
   * nothing is to be done, because no rule uses the feed.
   */
  readonly next: "Settled" | "Working" | "Retrying" | "Person" | "Paused" | "Nothing";
}

/** Ready, so that nothing waits for a feed before it creates the rule that uses it. */
export const unusedVerdict: FeedVerdict = {
  reason: "Unused",
  next: "Nothing",
  message: "No rule that is attached to an instance uses the feed, so wafsync does not fetch it.",
};

const reasonsOfFaults: Readonly<Record<FeedFault["code"], FetchedReason>> = {
  Unreachable: "Unavailable",
  TimedOut: "Unavailable",
  Truncated: "Unavailable",
  HttpStatus: "Unavailable",
  TooManyRedirects: "Unavailable",
  RateLimited: "RateLimited",
  UrlNotAllowed: "UrlNotAllowed",
  TooLarge: "NotAList",
  NotInFormat: "NotAList",
  TooManyEntries: "NotAList",
  Markup: "NotAList",
  Empty: "NotAList",
  MissingSecret: "MissingSecret",
  Refused: "BadApiKey",
};

export function judgeFeed({ good, held, fault }: FeedState, feed: DeclaredFeed, nowMs: number): FeedVerdict {
  const used = good && counted(withoutEnded(good.content, nowMs).entries.length, "entry", "entries");
  const usedContent =
    used === undefined ? "There is no content yet." : `Rules continue to use the last good content: ${used}.`;
  if (feed.suspend) return { reason: "Suspended", next: "Paused", message: `The feed is suspended. ${usedContent}` };
  if (fault !== undefined) {
    return {
      reason: reasonsOfFaults[fault.code] ?? "Unavailable",
      next: "Retrying",
      message: `${fault.message} ${usedContent}`,
    };
  }
  if (held !== undefined) {
    const approval = howToApprove(held, feed);
    return { reason: "ContentOnHold", next: "Person", message: `${held.message} ${usedContent} ${approval}` };
  }
  if (used === undefined) return { reason: "Pending", next: "Working", message: "The feed has not been fetched yet." };
  return { reason: "Fetched", next: "Settled", message: `The feed has ${used}.` };
}

/** Decisions change every minute, so their hash is valid only for that time. */
function howToApprove({ hash, reason }: HeldContent, { source }: DeclaredFeed): string {
  const guard = guardsOfReasons[reason];
  if (source.type === "Http" || guard === undefined)
    return `To use it, annotate the feed with ${acceptAnnotation}: "${hash}".`;
  return `To use the decisions, change spec.guards.${guard}, and restore it after the next fetch.`;
}

const guardsOfReasons: Readonly<Partial<Record<HoldReason, keyof FeedGuards>>> = {
  TooFewEntries: "minEntries",
  TooManyEntries: "maxEntries",
  TooManyAddresses: "maxAddresses",
  Shrunk: "maxShrinkPercent",
  TooManyInvalid: "maxInvalidPercent",
};

/** The time since which the content is stale; undefined if it is not. A suspended feed, which is not fetched, is never stale. */
export function staleSinceMs(state: FeedState, feed: DeclaredFeed, nowMs: number): number | undefined {
  if (state.good === undefined || feed.suspend) return undefined;
  const atMs = staleAtMs(state.good.confirmedAtMs, feed.staleAfterMs, feed.intervalMs);
  return nowMs >= atMs ? atMs : undefined;
}
