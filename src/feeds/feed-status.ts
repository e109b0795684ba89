// Derives the status and the events of a feed from its state.
import { formatTime } from "../model/time-text.ts";
import { networkOf } from "../address/entry.ts";
import { type Condition, type NewConditions, seeReady, withConditions } from "../kinds/conditions.ts";
import type { ConditionStatus, ReasonOf } from "../kinds/reasons.ts";
import type { WafFeedStatus } from "../kinds/waf-feed.ts";
import type { DeclaredFeed, FeedGuards } from "../model/declared-feed.ts";
import { counted } from "../model/sentence.ts";
import { specialPurposeObjection } from "../decide/special-purpose.ts";
import type { StatusPort } from "../run/ports.ts";
import { writeStatus } from "../run/status/write-status.ts";
import type { FeedContent } from "./content.ts";
import { acceptAnnotation, type FeedState, type HeldContent, staleAtMs, withoutEnded } from "./feed-state.ts";
import type { HoldReason } from "./guards.ts";

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

export async function writeFeedStatus(status: StatusPort, facts: FeedFacts): Promise<void> {
  await writeStatus(status, facts.feed.meta, (before) => feedStatus(before, facts));
}

/** Fields without a value are undefined, and the writer omits them. */
export function feedStatus(before: Partial<WafFeedStatus>, facts: FeedFacts): object {
  const { feed, state } = facts;
  const { good, held } = state;
  return {
    observedGeneration: feed.meta.generation,
    conditions: conditionsOf(before.conditions ?? [], facts),
    entries: entriesOf(facts),
    lastFetchTime: timeOf(state.lastFetchMs),
    lastGoodTime: timeOf(good?.confirmedAtMs),
    lastChangeTime: timeOf(good?.changedAtMs),
    nextFetchTime: feed.suspend ? undefined : timeOf(state.nextFetchMs),
    etag: good?.facts?.etag,
    sha256: good?.facts?.sha256,
    held:
      held === undefined
        ? undefined
        : { hash: held.hash, reason: held.reason, entries: held.counts.valid, since: formatTime(held.sinceMs) },
    invalidLines: good === undefined || good.invalidLines.length === 0 ? undefined : good.invalidLines,
  };
}

function entriesOf({ state: { good }, content }: FeedFacts): object | undefined {
  if (good === undefined) return undefined;
  return { ...good.counts, specialPurpose: specialPurposeCount(good.content), used: content?.entries.length ?? 0 };
}

const specialPurposeCounts = new WeakMap<FeedContent, number>();

function specialPurposeCount(content: FeedContent): number {
  const known = specialPurposeCounts.get(content);
  if (known !== undefined) return known;
  const { length } = content.entries.filter((entry) => specialPurposeObjection(entry, networkOf(entry)) !== undefined);
  specialPurposeCounts.set(content, length);
  return length;
}

function timeOf(timeMs: number | undefined): string | undefined {
  return timeMs === undefined ? undefined : formatTime(timeMs);
}

function conditionsOf(before: readonly Condition[], facts: FeedFacts): readonly Condition[] {
  const { feed, state, nowMs } = facts;
  const { next, reason, message } = verdictOf(facts);
  const [fetched, ready, work] = conditionsFor[next];
  const verdict = (status: ConditionStatus) => ({ status, reason, message: seeReady });
  const confirmed = formatTime(state.good?.confirmedAtMs ?? 0);
  const stale = `The source last confirmed the content at ${confirmed}. Rules continue to use it.`;
  const conditions = {
    Accepted: { status: "True", reason: "Accepted", message: "The feed is valid." },
    Fetched: verdict(fetched),
    Ready: { status: ready, reason, message },
    Stalled: work === "Stalled" ? verdict("True") : undefined,
    Reconciling: work === "Reconciling" ? verdict("True") : undefined,
    Stale:
      staleSinceMs(state, feed, nowMs) === undefined
        ? undefined
        : { status: "True", reason: "NotConfirmed", message: stale },
  } as NewConditions;
  return withConditions(before, conditions, feed.meta.generation, nowMs);
}

/** The status of `Fetched` and of `Ready`, and the condition that is present only while something is to be done. */
const conditionsFor: Readonly<
  Record<
    FeedVerdict["next"],
    readonly [fetched: ConditionStatus, ready: ConditionStatus, work?: "Stalled" | "Reconciling"]
  >
> = {
  Settled: ["True", "True"],
  Nothing: ["Unknown", "True"],
  Working: ["Unknown", "Unknown", "Reconciling"],
  Retrying: ["False", "False", "Reconciling"],
  Person: ["False", "False", "Stalled"],
  Paused: ["Unknown", "Unknown"],
};

function verdictOf({ feed, state, storeProblem, isUsed, nowMs }: FeedFacts): FeedVerdict {
  if (!isUsed) return unusedVerdict;
  if (storeProblem === undefined) return judgeFeed(state, feed, nowMs);
  return { reason: "Unavailable", next: "Retrying", message: `Nothing is fetched: ${storeProblem}` };
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
const unusedVerdict: FeedVerdict = {
  reason: "Pending",
  next: "Nothing",
  message: "No rule that is attached to an instance uses the feed, so wafsync does not fetch it.",
};

export function judgeFeed({ good, held, fault }: FeedState, feed: DeclaredFeed, nowMs: number): FeedVerdict {
  const used = good && counted(withoutEnded(good.content, nowMs).entries.length, "entry", "entries");
  const usedContent =
    used === undefined ? "There is no content yet." : `Rules continue to use the last good content: ${used}.`;
  if (feed.suspend) return { reason: "Suspended", next: "Paused", message: `The feed is suspended. ${usedContent}` };
  if (fault !== undefined) {
    return { reason: "Unavailable", next: "Retrying", message: `${fault.message} ${usedContent}` };
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
