// Decides whether new content of a feed may replace the last good content. Suspicious content is put on hold until a user
// accepts it by its hash; content that is definitely not a list is rejected.
import { type Entry, networkOf } from "../address/entry.ts";
import type { AddressFamily } from "../address/network.ts";
import { narrowestContainers } from "../address/ranges.ts";
import type { FeedGuards } from "../model/declared-feed.ts";
import { counted, inThousands } from "../model/sentence.ts";
import { specialPurposeObjection } from "../decide/special-purpose.ts";
import type { FeedContent, FeedCounts, FeedReading, TextFacts } from "./content.ts";

/** As for lists: a percentage of only a few entries is not meaningful. */
export const shrinkGuardEntriesMin = 10;
/** The same for invalid lines. */
export const invalidGuardLinesMin = 10;

export type HoldReason = "TooFewEntries" | "TooManyEntries" | "TooManyAddresses" | "Shrunk" | "TooManyInvalid";

export type FeedDecision =
  | { readonly verdict: "Accept" }
  | { readonly verdict: "Hold"; readonly reason: HoldReason; readonly message: string }
  /** Can't be accepted. */
  | { readonly verdict: "Refuse"; readonly reason: "Markup" | "Empty"; readonly message: string };

export interface JudgedContent {
  readonly reading: FeedReading;
  /** Absent for content that is not text. */
  readonly facts: TextFacts | undefined;
}

/** The first guard that rejects the content. */
export function judgeContent(
  judged: JudgedContent,
  lastGood: FeedContent | undefined,
  guards: FeedGuards,
): FeedDecision {
  const { counts, content } = judged.reading;
  return (
    refusal(judged) ??
    tooFew(counts, guards) ??
    tooLarge(judged.reading, guards) ??
    tooManyInvalid(counts, guards) ??
    shrunk(content, lastGood, guards) ?? { verdict: "Accept" }
  );
}

/** The same for content that results from individual changes: what is missing was deleted explicitly. */
export function judgeChanges(reading: FeedReading, guards: FeedGuards): FeedDecision {
  return tooLarge(reading, guards) ?? { verdict: "Accept" };
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

function tooLarge({ counts: { valid }, content }: FeedReading, guards: FeedGuards): FeedDecision | undefined {
  return tooMany(valid, guards) ?? tooWide(content, guards);
}

function tooMany(valid: number, { maxEntries }: FeedGuards): FeedDecision | undefined {
  if (valid <= maxEntries) return undefined;
  return hold(
    "TooManyEntries",
    `The feed has ${counted(valid, "entry", "entries")}, but spec.guards.maxEntries allows ${inThousands(maxEntries)}.`,
  );
}

function tooWide({ entries }: FeedContent, { maxAddresses }: FeedGuards): FeedDecision | undefined {
  const isWithin = ({ ipv4, ipv6 }: Covered): boolean => ipv4 <= maxAddresses && ipv6 <= maxAddresses;
  if (isWithin(covered(entries))) return undefined;
  const inside = narrowestContainers(entries);
  const together = covered(entries.filter((entry) => !inside.has(entry)));
  if (isWithin(together)) return undefined;
  const what =
    together.ipv4 > maxAddresses
      ? `${inThousands(together.ipv4)} IPv4 addresses`
      : `${inThousands(Math.ceil(together.ipv6))} IPv6 networks of length 48`;
  return hold(
    "TooManyAddresses",
    `The entries of the feed cover ${what}, but spec.guards.maxAddresses allows ${inThousands(maxAddresses)}.`,
  );
}

type Covered = Readonly<Record<AddressFamily, number>>;

/** Special-purpose networks do not count: many lists contain them, and rules skip them. */
function covered(entries: readonly Entry[]): Covered {
  const sizes = { ipv4: 0, ipv6: 0 };
  for (const entry of entries) {
    const network = networkOf(entry);
    const { family, prefixLength } = network;
    if (specialPurposeObjection(entry, network) === undefined)
      sizes[family] += 2 ** ((family === "ipv4" ? 32 : 48) - prefixLength);
  }
  return sizes;
}

function tooManyInvalid({ invalid, total }: FeedCounts, { maxInvalidPercent }: FeedGuards): FeedDecision | undefined {
  if (total < invalidGuardLinesMin || invalid * 100 <= total * maxInvalidPercent) return undefined;
  const message = `${inThousands(invalid)} of ${inThousands(total)} lines are not valid entries, but spec.guards.maxInvalidPercent allows ${maxInvalidPercent} %.`;
  return hold("TooManyInvalid", message);
}

function shrunk(
  { entries }: FeedContent,
  lastGood: FeedContent | undefined,
  { maxShrinkPercent }: FeedGuards,
): FeedDecision | undefined {
  const before = lastGood?.entries.length ?? 0;
  const current = new Set(entries);
  const lost = (lastGood?.entries ?? []).filter((entry) => !current.has(entry)).length;
  if (before < shrinkGuardEntriesMin || lost * 100 <= before * maxShrinkPercent) return undefined;
  const what =
    lost === before - entries.length
      ? `The feed shrank from ${inThousands(before)} to ${counted(entries.length, "entry", "entries")}`
      : `${inThousands(lost)} of the last ${inThousands(before)} entries are missing from the feed`;
  const message = `${what}, but spec.guards.maxShrinkPercent allows ${maxShrinkPercent} %.`;
  return hold("Shrunk", message);
}

function hold(reason: HoldReason, message: string): FeedDecision {
  return { verdict: "Hold", reason, message };
}
