// The limit of the entries of all feeds of a namespace. Feeds are authored by tenants, and all contents are kept in memory.
import type { DeclaredFeed } from "../../model/declared-feed.ts";
import { inThousands } from "../../model/sentence.ts";
import type { FetchOutcome } from "../../plan/feeds/fetched-text.ts";

/** As many as a single feed can have. */
export const entriesOfNamespaceMax = 1_000_000;

export interface CountedFeed {
  readonly feed: DeclaredFeed;
  readonly entries: number;
}

/** Undefined if the feed may have this many entries next to the other feeds of its namespace; otherwise the reason, in a sentence. */
export function limitProblem({ meta }: DeclaredFeed, count: number, feeds: Iterable<CountedFeed>): string | undefined {
  let entries = count;
  for (const other of feeds) {
    const { namespace, name } = other.feed.meta;
    if (namespace === meta.namespace && name !== meta.name) entries += other.entries;
  }
  if (entries <= entriesOfNamespaceMax) return undefined;
  return `The feeds of namespace ${meta.namespace} would have ${inThousands(entries)} entries in total, but at most ${inThousands(entriesOfNamespaceMax)} are allowed: use fewer or shorter lists.`;
}

/** The outcome, unless the namespace would have too many entries with it. */
export function withinLimit(feed: DeclaredFeed, outcome: FetchOutcome, feeds: Iterable<CountedFeed>): FetchOutcome {
  if (outcome.kind === "NotModified" || outcome.kind === "Failed") return outcome;
  const message = limitProblem(feed, outcome.reading.content.entries.length, feeds);
  return message === undefined ? outcome : { kind: "Failed", fault: { code: "TooManyEntries", message } };
}
