// Emits each event of a feed once. It compares states, so later fetches do not repeat events.
import type { DeclaredFeed } from "../../model/declared-feed.ts";
import type { FeedState } from "../../plan/feeds/feed-state.ts";
import { judgeFeed } from "../../plan/feeds/feed-verdict.ts";
import type { StatusPort } from "../ports.ts";
import { counted } from "../../model/sentence.ts";

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
