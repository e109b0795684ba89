// Wraps a source of resources and adds the entries of feeds to its rules. Everything else is passed through.
import type { Gathered, GatheredRule } from "../../model/gathered.ts";
import { type FeedUser, feedTextFor, mayUseFeed } from "../../plan/feeds/feed-access.ts";
import type { ObjectName } from "../../model/resource.ts";
import type { SourcePort } from "../ports.ts";
import type { FeedBook } from "./feed-book.ts";

/** @param book the feeds and their content. The version of the source does not include them. */
export function withFeeds(source: SourcePort, book: Pick<FeedBook, "view">): SourcePort {
  // Plans are cached by this object, so it must stay the same while nothing changes.
  const known = new WeakMap<Gathered, { readonly seen: readonly unknown[]; readonly gathered: Gathered }>();
  const extend = (gathered: Gathered | undefined): Gathered | undefined => {
    if (gathered === undefined || gathered.rules.every(({ rule }) => rule.feeds.length === 0)) return gathered;
    const before = known.get(gathered);
    const seen = seenOf(gathered, book);
    if (before?.seen.every((part, index) => part === seen[index]) === true) return before.gathered;
    const extended = { ...gathered, rules: gathered.rules.map((rule) => withTexts(rule, gathered, book)) };
    known.set(gathered, { seen, gathered: extended });
    return extended;
  };
  return {
    ...source,
    gather: async (instance) => extend(await source.gather(instance)),
    confirm: async (instance, options) => {
      const confirmed = await source.confirm(instance, options);
      return confirmed.state === "Failed" ? confirmed : { ...confirmed, gathered: extend(confirmed.gathered) };
    },
  };
}

/** Everything about the used feeds that rules see, in the order of the rules. */
function seenOf({ rules, namespaceLabels }: Gathered, book: Pick<FeedBook, "view">): readonly unknown[] {
  return rules.flatMap(({ rule: { meta, feeds } }) =>
    feeds.flatMap((feed) => {
      const view = book.view(feed);
      return [view && mayUseFeed(view.feed, userOf(meta, namespaceLabels)), view?.content?.entries];
    }),
  );
}

function userOf({ namespace }: ObjectName, labels: Gathered["namespaceLabels"]): FeedUser {
  return { namespace, labels: labels.get(namespace) };
}

function withTexts(one: GatheredRule, { namespaceLabels }: Gathered, book: Pick<FeedBook, "view">): GatheredRule {
  const { rule, texts } = one;
  if (rule.feeds.length === 0) return one;
  const user = userOf(rule.meta, namespaceLabels);
  return { ...one, texts: [...texts, ...rule.feeds.map((feed) => feedTextFor(feed, book.view(feed), user))] };
}
