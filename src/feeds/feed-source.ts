// Wraps a source of resources and adds the entries of feeds to its rules. Everything else is passed through.
import { describeSource, type FeedSource } from "../model/address-source.ts";
import { type DeclaredFeed, type FeedUser, mayUseFeed } from "../model/declared.ts";
import type { AddressText, Gathered } from "../model/gathered.ts";
import type { ObjectName } from "../model/resource.ts";
import { extending, type SourcePort } from "../run/ports.ts";
import type { FeedContent } from "./feed-state.ts";

/** The version of the source does not include the feeds. */
export function withFeeds(source: SourcePort, view: (feed: ObjectName) => FeedView | undefined): SourcePort {
  return extending(source, (gathered) => withFeedTexts(gathered, view));
}

/** Returns the gathered objects with the entries of feeds in their rules. */
export function withFeedTexts(gathered: Gathered, view: (feed: ObjectName) => StoredFeed): Gathered {
  if (gathered.rules.every(({ rule }) => rule.feeds.length === 0)) return gathered;
  const rules = gathered.rules.map((one) => {
    if (one.rule.feeds.length === 0) return one;
    const { namespace } = one.rule.meta;
    const user = { namespace, labels: gathered.namespaceLabels.get(namespace) };
    return { ...one, texts: [...one.texts, ...one.rule.feeds.map((feed) => feedTextFor(feed, view(feed), user))] };
  });
  return { ...gathered, rules };
}

/** A feed as rules see it. */
export interface FeedView {
  readonly feed: DeclaredFeed;
  /** Undefined if it never had content. */
  readonly content: FeedContent | undefined;
}

/** Undefined if the feed does not exist, or is invalid. `problem` says why this is not known. */
export type StoredFeed = FeedView | { readonly problem: string } | undefined;

/** Rules are parsed again only if the entries, their ends or their notes are other objects. */
export function feedTextFor(name: ObjectName, stored: StoredFeed, user: FeedUser): AddressText {
  const source: FeedSource = { kind: "WafFeed", ...name };
  const described = describeSource(source);
  const missing = (problem: string): AddressText => ({ state: "Missing", source, problem });
  if (stored !== undefined && "problem" in stored) return missing(stored.problem);
  if (name.namespace !== user.namespace && (stored === undefined || !mayUseFeed(stored.feed, user))) {
    // The same message for both cases: a user without access must not learn whether a feed exists.
    return missing(
      `${described} does not exist, or does not allow rules of namespace ${user.namespace} in its spec.allowedNamespaces.`,
    );
  }
  if (stored === undefined) return missing(`${described} is missing or invalid: correct it, or spec.addressesFrom.`);
  if (stored.content === undefined) return missing(`${described} has no content yet: check its status.`);
  const { entries, expiresAtMs, ended, notes } = stored.content;
  return {
    state: "Listed",
    source,
    entries,
    ...(expiresAtMs.size > 0 && { ending: expiresAtMs }),
    ...(ended && { ended }),
    ...(notes && { notes }),
  };
}
