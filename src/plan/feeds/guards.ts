// Decides whether new content of a feed may replace the last good content. Suspicious content is put on hold until a user
// accepts it by its hash; content that is definitely not a list is rejected.
import type { FeedFormat, FeedGuards } from "../../model/declared-feed.ts";
import type { FeedContent, FeedCounts, FeedReading } from "../../model/feed.ts";
import type { TextFacts } from "./fetched-text.ts";
import { counted, inThousands } from "../../model/sentence.ts";

/** As for lists: a percentage of only a few entries is not meaningful. */
export const shrinkGuardEntriesMin = 10;
/** The same for invalid lines. */
export const invalidGuardLinesMin = 10;

export type HoldReason = "TooFewEntries" | "TooManyEntries" | "Shrunk" | "TooManyInvalid" | "UnexpectedContentType";

export type FeedDecision =
  | { readonly verdict: "Accept" }
  | { readonly verdict: "Hold"; readonly reason: HoldReason; readonly message: string }
  /** Can't be accepted. */
  | { readonly verdict: "Refuse"; readonly reason: "Markup" | "Empty"; readonly message: string };

export interface JudgedContent {
  readonly reading: FeedReading;
  /** Absent for content that is not text. */
  readonly facts: TextFacts | undefined;
  readonly format: FeedFormat["type"] | "Decisions";
}

/** The first guard that rejects the content. */
export function judgeContent(
  judged: JudgedContent,
  lastGood: FeedContent | undefined,
  guards: FeedGuards,
): FeedDecision {
  const { counts } = judged.reading;
  return (
    refusal(judged) ??
    tooFew(counts, guards) ??
    tooMany(counts, guards) ??
    tooManyInvalid(counts, guards) ??
    shrunk(counts, lastGood, guards) ??
    contentType(judged) ?? { verdict: "Accept" }
  );
}

function refusal({ facts, reading }: JudgedContent): FeedDecision | undefined {
  if (facts === undefined) return undefined;
  if (facts.looksLikeMarkup) {
    const message =
      "The server returned a page (HTML or XML) instead of a list: check the URL, and whether it leads to a login or challenge page.";
    return { verdict: "Refuse", reason: "Markup", message };
  }
  if (facts.bytes === 0 && reading.counts.total === 0) {
    return { verdict: "Refuse", reason: "Empty", message: "The server returned an empty response." };
  }
  return undefined;
}

function tooFew({ valid }: FeedCounts, { minEntries }: FeedGuards): FeedDecision | undefined {
  if (valid >= minEntries) return undefined;
  return hold(
    "TooFewEntries",
    `The feed has ${counted(valid, "entry", "entries")}, but spec.guards.minEntries requires ${inThousands(minEntries)}.`,
  );
}

function tooMany({ valid }: FeedCounts, { maxEntries }: FeedGuards): FeedDecision | undefined {
  if (valid <= maxEntries) return undefined;
  return hold(
    "TooManyEntries",
    `The feed has ${counted(valid, "entry", "entries")}, but spec.guards.maxEntries allows ${inThousands(maxEntries)}.`,
  );
}

function tooManyInvalid({ invalid, total }: FeedCounts, { maxInvalidPercent }: FeedGuards): FeedDecision | undefined {
  if (total < invalidGuardLinesMin || invalid * 100 <= total * maxInvalidPercent) return undefined;
  const message = `${inThousands(invalid)} of ${inThousands(total)} lines are not valid entries, but spec.guards.maxInvalidPercent allows ${maxInvalidPercent} %.`;
  return hold("TooManyInvalid", message);
}

function shrunk(
  { valid }: FeedCounts,
  lastGood: FeedContent | undefined,
  { maxShrinkPercent }: FeedGuards,
): FeedDecision | undefined {
  const before = lastGood?.entries.length ?? 0;
  const lost = before - valid;
  if (before < shrinkGuardEntriesMin || lost * 100 <= before * maxShrinkPercent) return undefined;
  const message = `The feed shrank from ${inThousands(before)} to ${counted(valid, "entry", "entries")}, but spec.guards.maxShrinkPercent allows ${maxShrinkPercent} %.`;
  return hold("Shrunk", message);
}

const pageTypes = /^(?:text\/html|application\/xhtml\+xml|(?:image|audio|video|font)\/.*)$/u;

function contentType({ facts, format }: JudgedContent): FeedDecision | undefined {
  const type = facts?.contentType;
  if (type === undefined || !pageTypes.test(type)) return undefined;
  return hold(
    "UnexpectedContentType",
    `The response has the content type ${type.slice(0, 60)}, which is not valid for ${format} lists.`,
  );
}

function hold(reason: HoldReason, message: string): FeedDecision {
  return { verdict: "Hold", reason, message };
}
