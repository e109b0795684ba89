// Wraps a source of resources and adds the entries of feeds to its rules. Everything else is passed through.
import type { Gathered, GatheredRule } from "../../model/gathered.ts";
import { feedTextFor } from "../../plan/feeds/feed-access.ts";
import type { SourcePort } from "../ports.ts";
import type { FeedBook } from "./feed-book.ts";

/** @param book the feeds and their content */
export function withFeeds(source: SourcePort, book: Pick<FeedBook, "view" | "version">): SourcePort {
  // Plans are cached by this object, so it must stay the same while nothing changes.
  const known = new WeakMap<Gathered, { readonly version: number; readonly gathered: Gathered }>();
  const extend = (gathered: Gathered | undefined): Gathered | undefined => {
    if (gathered === undefined || gathered.rules.every(({ rule }) => rule.feeds.length === 0)) return gathered;
    const before = known.get(gathered);
    if (before?.version === book.version()) return before.gathered;
    const extended = { ...gathered, rules: gathered.rules.map((rule) => withTexts(rule, gathered, book)) };
    known.set(gathered, { version: book.version(), gathered: extended });
    return extended;
  };
  return {
    ...source,
    gather: async (instance) => extend(await source.gather(instance)),
    confirm: async (instance, options) => {
      const confirmed = await source.confirm(instance, options);
      return confirmed.state === "Failed" ? confirmed : { ...confirmed, gathered: extend(confirmed.gathered) };
    },
    version: (instance) => source.version(instance) + book.version(),
  };
}

function withTexts(one: GatheredRule, { namespaceLabels }: Gathered, book: Pick<FeedBook, "view">): GatheredRule {
  const { rule, texts } = one;
  if (rule.feeds.length === 0) return one;
  const { namespace } = rule.meta;
  const user = { namespace, labels: namespaceLabels.get(namespace) };
  return { ...one, texts: [...texts, ...rule.feeds.map((feed) => feedTextFor(feed, book.view(feed), user))] };
}
