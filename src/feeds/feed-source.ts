// Wraps a source of resources and adds the entries of feeds to its rules. Everything else is passed through.
import { describeSource, type FeedSource } from "../model/address-source.ts";
import { type DeclaredFeed, type FeedUser, mayUseFeed } from "../model/declared-feed.ts";
import type { DeclaredRule } from "../model/declared.ts";
import type { AddressText, Gathered, GatheredRule } from "../model/gathered.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import type { SourcePort } from "../run/ports.ts";
import type { FeedContent } from "./content.ts";

/** The feeds and their content. */
interface Feeds {
  view(feed: ObjectName): StoredFeed;
}

/** The version of the source does not include the feeds. */
export function withFeeds(source: SourcePort, feeds: Feeds): SourcePort {
  const extend = feedAdder(feeds);
  return {
    ...source,
    gather: async (instance) => extend(await source.gather(instance)),
    confirm: async (instance, options) => {
      const confirmed = await source.confirm(instance, options);
      return confirmed.state === "Failed" ? confirmed : { ...confirmed, gathered: extend(confirmed.gathered) };
    },
  };
}

/** Adds the entries of feeds to rules. */
export function feedAdder(feeds: Feeds) {
  // Plans are cached by this object, so it must stay the same while nothing changes.
  const known = new WeakMap<Gathered, { readonly texts: FeedTexts; readonly gathered: Gathered }>();
  return <Some extends Gathered | undefined>(gathered: Some): Some | Gathered => {
    if (gathered === undefined || gathered.rules.every(({ rule }) => rule.feeds.length === 0)) return gathered;
    const before = known.get(gathered);
    const texts = gathered.rules.map(({ rule }) => textsOf(rule, gathered, feeds));
    if (before !== undefined && isSame(before.texts, texts)) return before.gathered;
    const rules = gathered.rules.map((one, index) => withTexts(one, texts[index] ?? []));
    const extended = { ...gathered, rules };
    known.set(gathered, { texts, gathered: extended });
    return extended;
  };
}

/** For each rule, the texts of its feeds. */
type FeedTexts = readonly (readonly AddressText[])[];

function textsOf(rule: DeclaredRule, { namespaceLabels }: Gathered, feeds: Feeds): AddressText[] {
  const { namespace } = rule.meta;
  const user = { namespace, labels: namespaceLabels.get(namespace) };
  return rule.feeds.map((feed) => feedTextFor(feed, feeds.view(feed), user));
}

/** Texts of the same rules. The same entries give the same object. */
function isSame(before: FeedTexts, after: FeedTexts): boolean {
  const contentOf = (text?: AddressText) => (text?.state === "Missing" ? text.problem : text);
  return after.every((texts, at) => texts.every((text, feed) => contentOf(before[at]?.[feed]) === contentOf(text)));
}

function withTexts(one: GatheredRule, texts: readonly AddressText[]): GatheredRule {
  return texts.length === 0 ? one : { ...one, texts: [...one.texts, ...texts] };
}

/** A feed as rules see it. */
export interface FeedView {
  readonly feed: DeclaredFeed;
  /** Undefined if it never had content. */
  readonly content: FeedContent | undefined;
}

/** Undefined if the feed does not exist, or is invalid. `problem` says why that is unknown. */
export type StoredFeed = FeedView | { readonly problem: string } | undefined;

export function feedTextFor(name: ObjectName, view: StoredFeed, user: FeedUser): AddressText {
  const source: FeedSource = { kind: "WafFeed", ...name };
  const described = describeSource(source);
  const missing = (problem: string): AddressText => ({ state: "Missing", source, problem });
  if (view !== undefined && "problem" in view) return missing(view.problem);
  if (name.namespace !== user.namespace && (view === undefined || !mayUseFeed(view.feed, user))) {
    // The same message for both cases: a user without access must not learn whether a feed exists.
    return missing(
      `${described} does not exist, or does not allow rules of namespace ${user.namespace} in its spec.allowedNamespaces.`,
    );
  }
  if (view === undefined) return missing(`${described} is missing or invalid: correct it, or spec.addressesFrom.`);
  return view.content === undefined
    ? missing(`${described} has no content yet: check its status.`)
    : listed(view.content, source);
}

const texts = new WeakMap<FeedContent, Map<string, AddressText>>();

/** Returns the same object for the same content, because results are cached by it. Content with other ends is another one. */
function listed(content: FeedContent, source: FeedSource): AddressText {
  const { entries, expiresAtMs, ended, notes } = content;
  const known = texts.get(content) ?? new Map<string, AddressText>();
  texts.set(content, known);
  const ending = expiresAtMs.size === 0 ? undefined : expiresAtMs;
  const text = known.get(nameKey(source)) ?? {
    state: "Listed",
    source,
    entries,
    ...(ending && { ending }),
    ...(ended && { ended }),
    ...(notes && { notes }),
  };
  known.set(nameKey(source), text);
  return text;
}
