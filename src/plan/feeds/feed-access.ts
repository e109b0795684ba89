// The entries that a rule gets from a feed: the last good content, if the feed allows the namespace of the rule.
import type { DeclaredFeed } from "../../model/declared-feed.ts";
import type { AddressText } from "../../model/gathered.ts";
import type { FeedContent } from "../../model/feed.ts";
import { feedSourceName } from "../../model/feed.ts";
import type { ObjectName } from "../../model/resource.ts";
import { matchesSelector } from "../../model/label-selector.ts";

/** A feed as rules see it. */
export interface FeedView {
  readonly feed: DeclaredFeed;
  /** Undefined if it never had content. */
  readonly content: FeedContent | undefined;
}

export interface FeedUser {
  /** The namespace of the rule. */
  readonly namespace: string;
  /** Undefined if they could not be read. */
  readonly labels: Readonly<Record<string, string>> | undefined;
}

/** @param view undefined if the feed does not exist */
export function feedTextFor(name: ObjectName, view: FeedView | undefined, user: FeedUser): AddressText {
  const source = feedSourceName(name);
  const missing = (problem: string): AddressText => ({ state: "Missing", source, problem });
  if (name.namespace !== user.namespace && (view === undefined || !mayUseFeed(view.feed, user))) {
    // The same message for both cases: a user without access must not learn whether a feed exists.
    return missing(
      `${source} does not exist, or does not allow rules of namespace ${user.namespace} in its spec.allowedNamespaces.`,
    );
  }
  if (view === undefined) return missing(`${source} does not exist: create it, or correct spec.addressesFrom.`);
  const { content } = view;
  return content === undefined ? missing(`${source} has no content yet: check its status.`) : listed(content, source);
}

const texts = new WeakMap<FeedContent["entries"], Map<string, AddressText>>();

/** Returns the same object for the same entries, because results are cached by it. */
function listed({ entries, expiresAtMs, ended }: FeedContent, source: string): AddressText {
  const known = texts.get(entries) ?? new Map<string, AddressText>();
  texts.set(entries, known);
  const ending = expiresAtMs.size === 0 ? undefined : expiresAtMs;
  const text = known.get(source) ?? {
    state: "Listed",
    source,
    entries,
    ...(ending && { ending }),
    ...(ended && { ended }),
  };
  known.set(source, text);
  return text;
}

/** A feed can be used in its own namespace, and in those that it allows. */
export function mayUseFeed(
  { meta, allowedNamespaces: { from, selector } }: DeclaredFeed,
  { namespace, labels }: FeedUser,
): boolean {
  if (from === "All" || namespace === meta.namespace) return true;
  return from === "Selector" && selector !== undefined && labels !== undefined && matchesSelector(selector, labels);
}
