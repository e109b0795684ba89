// Judges the response to a fetch of a feed as the documentation describes it. This is a separate implementation, without code from
// src/decide, so that the same bug can't be in both.
import type { FeedGuards } from "../../../src/model/declared.ts";
import { parseDeclaredEntry } from "../../../src/address/entry.ts";

/** The content that a server returns. */
export type Served =
  | { readonly kind: "Text"; readonly lines: readonly string[] }
  /** HTML that contains the lines of a list. */
  | { readonly kind: "Page"; readonly lines: readonly string[] }
  /** An empty body. */
  | { readonly kind: "Nothing" }
  /** The connection is closed in the middle. */
  | { readonly kind: "Cut" }
  /** 404. */
  | { readonly kind: "Gone" };

/** A server's response, and the guards when the fetch began: an edit during the fetch may apply only to the next fetch. */
export interface Answer {
  readonly served: Served;
  readonly guards: FeedGuards;
}

export type Judged =
  | { readonly verdict: "Good" }
  /** A person may accept it. */
  | { readonly verdict: "Hold"; readonly why: string }
  | { readonly verdict: "Refuse"; readonly why: string };

/** The entries in it, each once, in order. */
export function spokenEntries(served: Served): readonly string[] {
  const lines = "lines" in served ? served.lines : [];
  const entries = lines.flatMap((line) => {
    const parsed = parseDeclaredEntry(line);
    return parsed.ok ? [parsed.entry] : [];
  });
  return [...new Set(entries)].sort();
}

export function judgeServed(
  served: Served | undefined,
  before: readonly string[] | undefined,
  { minEntries, maxEntries, maxShrinkPercent, maxInvalidPercent }: FeedGuards,
): Judged {
  if (served === undefined) return { verdict: "Refuse", why: "nothing was fetched" };
  if (served.kind !== "Text") return { verdict: "Refuse", why: `the answer was no list: ${served.kind}` };
  const spoken = spokenEntries(served);
  const count = spoken.length;
  const lineCount = served.lines.length;
  const invalid = served.lines.filter((line) => !parseDeclaredEntry(line).ok).length;
  const last = before?.length ?? 0;
  if (count < minEntries) return { verdict: "Hold", why: `it has ${count} entries` };
  if (count > maxEntries) return { verdict: "Hold", why: `it has ${count} entries` };
  if (lineCount >= 10 && (invalid / lineCount) * 100 > maxInvalidPercent)
    return { verdict: "Hold", why: `${invalid} of ${lineCount} lines are invalid` };
  const lost = (before ?? []).filter((entry) => !spoken.includes(entry)).length;
  if (last >= 10 && (lost / last) * 100 > maxShrinkPercent)
    return { verdict: "Hold", why: `it lacks ${lost} of ${last} entries` };
  return { verdict: "Good" };
}

/** Equal for contents with the same entries. */
export function keyOf(entries: readonly string[] | undefined): string {
  return entries === undefined ? "none" : [...new Set(entries)].sort().join(" ");
}

/**
 * Returns the fault in the content that is stored after a response, or undefined.
 * @param guards the current guards
 * @param isAccepted whether a person accepts the content with this key
 */
export function objectionTo(
  { before, after }: { readonly before: readonly string[] | undefined; readonly after: readonly string[] | undefined },
  answer: Answer | undefined,
  guards: FeedGuards,
  isAccepted: (key: string) => boolean,
): string | undefined {
  const now = judgeServed(answer?.served, before, guards);
  const then = judgeServed(answer?.served, before, answer?.guards ?? guards);
  const isTaken = answer !== undefined && keyOf(spokenEntries(answer.served)) === keyOf(after);
  if (keyOf(before) === keyOf(after)) {
    const mustBeTaken = now.verdict === "Good" && then.verdict === "Good";
    return mustBeTaken && !isTaken ? "good content was not taken" : undefined;
  }
  if (after === undefined) return "the last good content was given up";
  if (!isTaken) return "the content is not what the server said";
  if (now.verdict === "Good" || then.verdict === "Good") return undefined;
  if (now.verdict === "Hold" && isAccepted(keyOf(after))) return undefined;
  return `content was taken although ${now.why}`;
}
