// Derives the status and the events of a feed from its state.
import { formatTime, counted } from "../model/texts.ts";
import { type Entry, networkOf } from "../address/entry.ts";
import type { NewConditions } from "../kinds/conditions.ts";
import type { ReasonOf } from "../kinds/reasons.ts";
import type { WafFeedStatus } from "../kinds/waf-feed.ts";
import type { DeclaredFeed } from "../model/declared.ts";
import { specialPurposeObjection } from "../decide/special-purpose.ts";
import type { StatusPort } from "../run/ports.ts";
import { accepted, type Finding, forPerson, pendingFinding, withFindings } from "../run/status/messages.ts";
import {
  type FeedContent,
  onceFor,
  acceptAnnotation,
  type FeedState,
  type HeldContent,
  staleAtMs,
  withoutEnded,
} from "./feed-state.ts";
import { guardOfReason } from "./guards.ts";

export interface FeedFacts {
  readonly feed: DeclaredFeed;
  readonly state: FeedState;
  /** The entries that rules currently use. */
  readonly content: FeedContent | undefined;
  readonly storeProblem: string | undefined;
  /** Whether an attached rule uses the feed. */
  readonly isUsed: boolean;
  readonly nowMs: number;
}

/** Fields without a value are undefined, and the writer omits them. */
export function feedStatus(before: Partial<WafFeedStatus>, facts: FeedFacts): object {
  const { feed, state, nowMs } = facts;
  const { good, held } = state;
  const assessment = {
    accepted: { ...accepted, message: "The feed is valid." },
    found: verdictOf(facts),
    others: { Stale: staleOf(facts) },
  };
  const { conditions, observedGeneration } = withFindings(before, feed.meta, "Fetched", assessment, nowMs);
  return {
    observedGeneration,
    conditions,
    entries: good && {
      ...good.counts,
      specialPurpose: specialPurposeCount(good.content.entries),
      used: facts.content?.entries.length ?? 0,
    },
    lastFetchTime: formatTime(state.lastFetchMs),
    lastGoodTime: formatTime(good?.confirmedAtMs),
    lastChangeTime: formatTime(good?.changedAtMs),
    nextFetchTime: feed.suspend ? undefined : formatTime(state.nextFetchMs),
    etag: good?.facts?.etag,
    sha256: good?.facts?.sha256,
    held: held && {
      hash: held.hash,
      reason: held.reason,
      entries: held.counts.valid,
      since: formatTime(held.sinceMs),
    },
    invalidLines: good === undefined || good.invalidLines.length === 0 ? undefined : good.invalidLines,
  };
}

const specialPurposeCount = onceFor((entries: readonly Entry[]): number => {
  return entries.filter((entry) => specialPurposeObjection(entry, networkOf(entry)) !== undefined).length;
});

function staleOf({ feed, state, nowMs }: FeedFacts): NewConditions["Stale"] {
  if (!isStale(state, feed, nowMs)) return undefined;
  const confirmed = formatTime(state.good?.confirmedAtMs ?? 0);
  const message = `The source last confirmed the content at ${confirmed}. Rules continue to use it.`;
  return { status: "True", reason: "NotConfirmed", message };
}

function verdictOf({ feed, state, storeProblem, isUsed, nowMs }: FeedFacts): FeedVerdict {
  if (!isUsed) return unusedVerdict;
  if (storeProblem === undefined) return judgeFeed(state, feed, nowMs);
  return unavailable(`Nothing is fetched: ${storeProblem}`);
}

/** Emits each event once: it compares states, so later fetches do not repeat events. */
export function emitFeedEvents(
  status: StatusPort,
  feed: DeclaredFeed,
  before: FeedState,
  after: FeedState,
  nowMs: number,
): void {
  const { meta } = feed;
  const was = judgeFeed(before, feed, nowMs);
  const is = judgeFeed(after, feed, nowMs);
  const wasOk = was.next === "Settled" || was.next === "Working";
  if (is.reason === "ContentOnHold" && isNewlyHeld(feed, before, after)) {
    status.event(meta, { type: "Warning", reason: "FeedContentOnHold", message: is.message });
  } else if (is.next === "Retrying" && is.reason !== was.reason) {
    status.event(meta, { type: "Warning", reason: "FeedFetchFailed", message: is.message });
  } else if (is.next === "Settled" && !wasOk) {
    status.event(meta, { type: "Normal", reason: "FeedRecovered", message: is.message });
  }
  if (after.usedAcceptance !== undefined && after.usedAcceptance !== before.usedAcceptance) {
    const message = `The content on hold was accepted with wafsync.dev/accept-feed: "${after.usedAcceptance}".`;
    status.event(meta, { type: "Normal", reason: "FeedContentAccepted", message });
  }
  emitChange(status, feed, before, after);
}

/** For decisions, only the reason is compared, because the content on hold changes every minute. */
function isNewlyHeld({ source }: DeclaredFeed, { held: before }: FeedState, { held: after }: FeedState): boolean {
  return source.type === "Http" ? before?.hash !== after?.hash : before?.reason !== after?.reason;
}

function emitChange(status: StatusPort, { meta }: DeclaredFeed, before: FeedState, after: FeedState): void {
  const old = before.good?.content;
  const next = after.good?.content;
  if (next === undefined || old?.entries === next.entries) return;
  const known = new Set(old?.entries);
  const added = next.entries.filter((entry) => !known.has(entry)).length;
  const removed = (old?.entries.length ?? 0) - (next.entries.length - added);
  const message = `The feed has ${counted(next.entries.length, "entry", "entries")}: ${added} new, ${removed} removed.`;
  status.event(meta, { type: "Normal", reason: "FeedChanged", message });
}

export type FetchedReason = ReasonOf<"Fetched">;

type FeedVerdict = Finding<FetchedReason>;

/** Ready, so that nothing waits for a feed before it creates the rule that uses it. */
const unusedVerdict: FeedVerdict = {
  status: "Unknown",
  reason: "Pending",
  next: "Settled",
  message: "No rule that is attached to an instance uses the feed, so wafsync does not fetch it.",
};

export function judgeFeed({ good, held, fault }: FeedState, feed: DeclaredFeed, nowMs: number): FeedVerdict {
  const used = good && counted(withoutEnded(good.content, nowMs).entries.length, "entry", "entries");
  const usedContent =
    used === undefined ? "There is no content yet." : `Rules continue to use the last good content: ${used}.`;
  if (feed.suspend) {
    return { status: "Unknown", reason: "Suspended", next: "Paused", message: `The feed is suspended. ${usedContent}` };
  }
  if (fault !== undefined) return unavailable(`${fault.message} ${usedContent}`);
  if (held !== undefined) {
    return forPerson("ContentOnHold", `${held.message} ${usedContent} ${howToApprove(held, feed)}`);
  }
  if (used === undefined) return pendingFinding("The feed has not been fetched yet.");
  return { status: "True", reason: "Fetched", next: "Settled", message: `The feed has ${used}.` };
}

function unavailable(message: string): FeedVerdict {
  return { status: "False", reason: "Unavailable", next: "Retrying", message };
}

/** Decisions change every minute, so their hash is valid only for that time. */
function howToApprove({ hash, reason }: HeldContent, { source }: DeclaredFeed): string {
  if (source.type === "Http") return `To use it, annotate the feed with ${acceptAnnotation}: "${hash}".`;
  return `To use the decisions, change spec.guards.${guardOfReason[reason]}, and restore it after the next fetch.`;
}

/** Whether the content is stale. A suspended feed, which is not fetched, never is. */
export function isStale(
  { good }: FeedState,
  { suspend, staleAfterMs, intervalMs }: DeclaredFeed,
  nowMs: number,
): boolean {
  return good !== undefined && !suspend && nowMs >= staleAtMs(good.confirmedAtMs, staleAfterMs, intervalMs);
}
