// What the state of a feed means for people, as one finding: the reason, who moves next, and a sentence.
import type { DeclaredFeed, FeedGuards } from "../../model/declared-feed.ts";
import { type FeedFault, type FeedState, type HeldContent, acceptAnnotation } from "./feed-state.ts";
import type { HoldReason } from "./guards.ts";
import { staleAtMs } from "./schedule.ts";

export type FetchedReason =
  | "Fetched"
  | "Pending"
  | "Suspended"
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
  /** Who moves next: nobody, wafsync for the first time, wafsync again, a person, or whoever suspended the feed. */
  readonly next: "Settled" | "Working" | "Retrying" | "Person" | "Paused";
}

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

export function judgeFeed(state: FeedState, feed: DeclaredFeed): FeedVerdict {
  const { good, held, fault } = state;
  if (feed.suspend)
    return { reason: "Suspended", next: "Paused", message: `The feed is suspended. ${usedContent(state)}` };
  if (fault !== undefined) {
    return {
      reason: reasonsOfFaults[fault.code] ?? "Unavailable",
      next: "Retrying",
      message: `${fault.message} ${usedContent(state)}`,
    };
  }
  if (held !== undefined) {
    const approval = howToApprove(held, feed);
    return { reason: "ContentOnHold", next: "Person", message: `${held.message} ${usedContent(state)} ${approval}` };
  }
  if (good === undefined) return { reason: "Pending", next: "Working", message: "The source has not been asked yet." };
  return { reason: "Fetched", next: "Settled", message: `The feed has ${entriesText(good.content.entries.length)}.` };
}

/** Decisions come and go by the minute, so a hash of them names what is on hold for no longer than that. */
function howToApprove({ hash, reason }: HeldContent, { source }: DeclaredFeed): string {
  const guard = guardsOfReasons[reason];
  if (source.type === "Http" || guard === undefined)
    return `To use it, annotate the feed with ${acceptAnnotation}: "${hash}".`;
  return `To use the decisions, change spec.guards.${guard}, and change it back after the next fetch.`;
}

const guardsOfReasons: Readonly<Partial<Record<HoldReason, keyof FeedGuards>>> = {
  TooFewEntries: "minEntries",
  TooManyEntries: "maxEntries",
  Shrunk: "maxShrinkPercent",
  TooManyInvalid: "maxInvalidPercent",
};

function usedContent({ good }: FeedState): string {
  if (good === undefined) return "There is no content yet.";
  return `The last good content stays in use: ${entriesText(good.content.entries.length)}.`;
}

/** Since when the content counts as stale; undefined if it does not. A suspended feed never does: nobody expects it to change. */
export function staleSinceMs(state: FeedState, feed: DeclaredFeed, nowMs: number): number | undefined {
  if (state.good === undefined || feed.suspend) return undefined;
  const atMs = staleAtMs(state.good.confirmedAtMs, feed.staleAfterMs, feed.intervalMs);
  return nowMs >= atMs ? atMs : undefined;
}

export function entriesText(count: number): string {
  return count === 1 ? "1 entry" : `${count.toLocaleString("en-US")} entries`;
}
