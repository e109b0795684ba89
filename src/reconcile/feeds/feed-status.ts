// Derives the status and the events of a feed from its state.
import type { Condition } from "../../api/conditions.ts";
import { formatTime, removeCondition, setCondition } from "../../api/conditions.ts";
import type { WafFeedStatus } from "../../api/waf-feed.ts";
import type { DeclaredFeed } from "../../model/declared-feed.ts";
import { networkOf } from "../../address/entry.ts";
import type { FeedContent } from "../../model/feed.ts";
import { counted } from "../../model/sentence.ts";
import type { FeedState } from "../../plan/feeds/feed-state.ts";
import { type FeedVerdict, judgeFeed, staleSinceMs, unusedVerdict } from "../../plan/feeds/feed-verdict.ts";
import { specialPurposeObjection } from "../../plan/lists/special-purpose.ts";
import type { StatusPort } from "../ports.ts";
import { writeStatus } from "../status/write-status.ts";

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
  const { feed, nowMs } = facts;
  const { generation: observedGeneration } = feed.meta;
  const verdict = verdictOf(facts);
  const message = verdict.message;
  const accepted = { type: "Accepted", status: "True", reason: "Accepted", message: "The feed is valid." } as const;
  let conditions = setCondition(before, { ...accepted, observedGeneration }, nowMs);
  const status = fetchedStatus(verdict);
  conditions = setCondition(
    conditions,
    { type: "Fetched", status, reason: verdict.reason, message, observedGeneration },
    nowMs,
  );
  conditions = setCondition(conditions, { type: "Ready", ...readyOf(verdict), observedGeneration }, nowMs);
  conditions = withWork(conditions, verdict, observedGeneration, nowMs);
  return withStale(conditions, facts);
}

function verdictOf({ feed, state, storeProblem, isUsed, nowMs }: FeedFacts): FeedVerdict {
  if (!isUsed) return unusedVerdict;
  if (storeProblem === undefined) return judgeFeed(state, feed, nowMs);
  return { reason: "Unavailable", next: "Retrying", message: `Nothing is fetched: ${storeProblem}` };
}

function fetchedStatus({ next }: FeedVerdict): "True" | "False" | "Unknown" {
  if (next === "Settled") return "True";
  return next === "Working" || next === "Paused" || next === "Nothing" ? "Unknown" : "False";
}

function readyOf({ next, reason, message }: FeedVerdict) {
  if (next === "Settled" || next === "Nothing") return { status: "True", reason: "Ready", message } as const;
  if (next === "Working") return { status: "Unknown", reason: "Progressing", message } as const;
  return { status: next === "Paused" ? "Unknown" : "False", reason, message } as const;
}

function withWork(
  before: readonly Condition[],
  { next, reason, message }: FeedVerdict,
  observedGeneration: number,
  nowMs: number,
): readonly Condition[] {
  const common = { status: "True", message, observedGeneration } as const;
  let conditions =
    next === "Person"
      ? setCondition(before, { type: "Stalled", reason, ...common }, nowMs)
      : removeCondition(before, "Stalled");
  if (next === "Working" || next === "Retrying") {
    const how = next === "Working" ? "Progressing" : "ProgressingWithRetry";
    conditions = setCondition(conditions, { type: "Reconciling", reason: how, ...common }, nowMs);
  } else conditions = removeCondition(conditions, "Reconciling");
  return conditions;
}

function withStale(conditions: readonly Condition[], { feed, state, nowMs }: FeedFacts): readonly Condition[] {
  if (staleSinceMs(state, feed, nowMs) === undefined) return removeCondition(conditions, "Stale");
  const confirmed = formatTime(state.good?.confirmedAtMs ?? 0);
  const message = `The source last confirmed the content at ${confirmed}. Rules continue to use it.`;
  const { generation: observedGeneration } = feed.meta;
  return setCondition(
    conditions,
    { type: "Stale", status: "True", reason: "NotConfirmed", message, observedGeneration },
    nowMs,
  );
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
