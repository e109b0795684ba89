// Wraps a source of resources and adds the entries of feeds to its rules. Everything else is passed through.
import { describeSource, type FeedSource } from "../model/address-source.ts";
import { type DeclaredFeed, type FeedUser, mayUseFeed } from "../model/declared-feed.ts";
import type { DeclaredRule } from "../model/declared.ts";
import type { AddressText, Gathered, GatheredRule } from "../model/gathered.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import type { SourcePort } from "../run/ports.ts";
import type { FeedContent } from "./content.ts";
import type { FeedBook } from "./feed-book.ts";

/** @param book the feeds and their content. The version of the source does not include them. */
export function withFeeds(source: SourcePort, book: Pick<FeedBook, "view">): SourcePort {
  // Plans are cached by this object, so it must stay the same while nothing changes.
  const known = new WeakMap<Gathered, { readonly texts: FeedTexts; readonly gathered: Gathered }>();
  const extend = (gathered: Gathered | undefined): Gathered | undefined => {
    if (gathered === undefined || gathered.rules.every(({ rule }) => rule.feeds.length === 0)) return gathered;
    const before = known.get(gathered);
    const texts = gathered.rules.map(({ rule }) => textsOf(rule, gathered, book));
    if (before !== undefined && isSame(before.texts, texts)) return before.gathered;
    const rules = gathered.rules.map((one, index) => withTexts(one, texts[index] ?? []));
    const extended = { ...gathered, rules };
    known.set(gathered, { texts, gathered: extended });
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

/** For each rule, the texts of its feeds. */
type FeedTexts = readonly (readonly AddressText[])[];

function textsOf(rule: DeclaredRule, { namespaceLabels }: Gathered, book: Pick<FeedBook, "view">): AddressText[] {
  const { namespace } = rule.meta;
  const user = { namespace, labels: namespaceLabels.get(namespace) };
  return rule.feeds.map((feed) => feedTextFor(feed, book.view(feed), user));
}

/** Texts of the same rules. The same entries give the same object. */
function isSame(before: FeedTexts, after: FeedTexts): boolean {
  return after.every((texts, rule) => texts.every((text, feed) => isSameText(before[rule]?.[feed], text)));
}

function isSameText(before: AddressText | undefined, after: AddressText): boolean {
  if (before?.state === "Missing" && after.state === "Missing") return before.problem === after.problem;
  return before === after;
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

/** @param view undefined if the feed does not exist, or is invalid */
export function feedTextFor(name: ObjectName, view: FeedView | undefined, user: FeedUser): AddressText {
  const source: FeedSource = { kind: "WafFeed", ...name };
  const described = describeSource(source);
  const missing = (problem: string): AddressText => ({ state: "Missing", source, problem });
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
