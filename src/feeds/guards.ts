// Decides whether new content of a feed may replace the last good content. Suspicious content is put on hold until a user
// accepts it by its hash.
import { type Entry, networkOf } from "../address/entry.ts";
import type { AddressFamily } from "../address/network.ts";
import { narrowestContainers } from "../address/ranges.ts";
import type { FeedGuards } from "../model/declared.ts";
import { counted, inThousands } from "../model/texts.ts";
import { specialPurposeObjection } from "../decide/special-purpose.ts";
import type { FeedContent, FeedReading, FetchOutcome } from "./feed-state.ts";

/** As for lists: a percentage of only a few entries is not meaningful. */
export const shrinkGuardEntriesMin = 10;
/** The same for invalid lines. */
export const invalidGuardLinesMin = 10;

/** Why content is put on hold, and the guard that does it. */
export const guardOfReason = {
  TooFewEntries: "minEntries",
  TooManyEntries: "maxEntries",
  TooManyAddresses: "maxAddresses",
  Shrunk: "maxShrinkPercent",
  TooManyInvalid: "maxInvalidPercent",
} as const satisfies Readonly<Record<string, keyof FeedGuards>>;
export type HoldReason = keyof typeof guardOfReason;

export interface Objection {
  readonly reason: HoldReason;
  readonly message: string;
}

type NewContent = Extract<FetchOutcome, { kind: "Read" | "Updated" }>;

/** The objection of the first guard that rejects the content. What is missing after individual changes was deleted explicitly. */
export function judgeContent(
  { kind, reading }: NewContent,
  lastGood: FeedContent | undefined,
  guards: FeedGuards,
): Objection | undefined {
  if (kind === "Updated") return tooLarge(reading, guards);
  return (
    tooFew(reading, guards) ??
    tooLarge(reading, guards) ??
    tooManyInvalid(reading, guards) ??
    shrunk(reading, lastGood, guards)
  );
}

function tooFew({ counts: { valid } }: FeedReading, guards: FeedGuards): Objection | undefined {
  const { minEntries } = guards;
  if (valid >= minEntries) return undefined;
  return hold("TooFewEntries", `The feed has ${counted(valid, "entry", "entries")}`, guards);
}

function tooLarge({ counts: { valid }, content }: FeedReading, guards: FeedGuards): Objection | undefined {
  const { maxEntries } = guards;
  if (valid <= maxEntries) return tooWide(content, guards);
  return hold("TooManyEntries", `The feed has ${counted(valid, "entry", "entries")}`, guards);
}

function tooWide({ entries }: FeedContent, guards: FeedGuards): Objection | undefined {
  const { maxAddresses } = guards;
  const isWithin = ({ ipv4, ipv6 }: Covered): boolean => ipv4 <= maxAddresses && ipv6 <= maxAddresses;
  if (isWithin(covered(entries))) return undefined;
  const inside = narrowestContainers(entries);
  const together = covered(entries.filter((entry) => !inside.has(entry)));
  if (isWithin(together)) return undefined;
  const what =
    together.ipv4 > maxAddresses
      ? `${inThousands(together.ipv4)} IPv4 addresses`
      : `${inThousands(Math.ceil(together.ipv6))} IPv6 networks of length 48`;
  return hold("TooManyAddresses", `The entries of the feed cover ${what}`, guards);
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

function tooManyInvalid({ counts }: FeedReading, guards: FeedGuards): Objection | undefined {
  const { invalid, total } = counts;
  const { maxInvalidPercent } = guards;
  if (total < invalidGuardLinesMin || invalid * 100 <= total * maxInvalidPercent) return undefined;
  const what = `${inThousands(invalid)} of ${inThousands(total)} lines are not valid entries`;
  return hold("TooManyInvalid", what, guards);
}

function shrunk(
  { content: { entries } }: FeedReading,
  lastGood: FeedContent | undefined,
  guards: FeedGuards,
): Objection | undefined {
  const { maxShrinkPercent } = guards;
  const before = lastGood?.entries.length ?? 0;
  const current = new Set(entries);
  const lost = (lastGood?.entries ?? []).filter((entry) => !current.has(entry)).length;
  if (before < shrinkGuardEntriesMin || lost * 100 <= before * maxShrinkPercent) return undefined;
  const what =
    lost === before - entries.length
      ? `The feed shrank from ${inThousands(before)} to ${counted(entries.length, "entry", "entries")}`
      : `${inThousands(lost)} of the last ${inThousands(before)} entries are missing from the feed`;
  return hold("Shrunk", what, guards);
}

function hold(reason: HoldReason, what: string, guards: FeedGuards): Objection {
  const guard = guardOfReason[reason];
  const limit = guard.endsWith("Percent") ? `${guards[guard]} %` : inThousands(guards[guard]);
  const does = guard === "minEntries" ? "requires" : "allows";
  return { reason, message: `${what}, but spec.guards.${guard} ${does} ${limit}.` };
}
