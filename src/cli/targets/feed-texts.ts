// Adds the entries that rules get from feeds, from the stored content. These commands do not fetch feeds.
import { realClock } from "../../async/clock.ts";
import type { DeclaredFeed } from "../../model/declared-feed.ts";
import type { AddressText, Gathered, GatheredRule } from "../../model/gathered.ts";
import type { ObjectName } from "../../model/resource.ts";
import type { FeedView } from "../../plan/feeds/feed-access.ts";
import { feedSourceName } from "../../model/feed.ts";
import { feedTextFor } from "../../plan/feeds/feed-access.ts";
import type { FeedState } from "../../plan/feeds/feed-state.ts";
import { withoutEnded } from "../../plan/feeds/feed-state.ts";

type Loaded =
  | { readonly ok: true; readonly state: FeedState | undefined }
  | { readonly ok: false; readonly problem: string };

/** `problem` is the reason why the content of the feed is unknown. */
export type StoredFeed = { readonly view: FeedView | undefined } | { readonly problem: string };

/** The same object if no rule uses a feed. */
export async function withFeedTexts(
  gathered: Gathered,
  read: (feed: ObjectName) => Promise<StoredFeed>,
): Promise<Gathered> {
  if (gathered.rules.every(({ rule }) => rule.feeds.length === 0)) return gathered;
  const rules: GatheredRule[] = [];
  for (const item of gathered.rules) {
    const { namespace } = item.rule.meta;
    const user = { namespace, labels: gathered.namespaceLabels.get(namespace) };
    const texts: AddressText[] = [];
    for (const name of item.rule.feeds) {
      const stored = await read(name);
      if ("problem" in stored) texts.push({ state: "Missing", source: feedSourceName(name), problem: stored.problem });
      else texts.push(feedTextFor(name, stored.view, user));
    }
    rules.push({ ...item, texts: [...item.texts, ...texts] });
  }
  return { ...gathered, rules };
}

/** @param feed undefined if there is no such feed */
export async function viewOfFeed(feed: DeclaredFeed | undefined, loaded: Loaded): Promise<StoredFeed> {
  if (feed === undefined) return { view: undefined };
  if (!loaded.ok) return { problem: loaded.problem };
  const content = loaded.state?.good?.content;
  return { view: { feed, content: content === undefined ? undefined : withoutEnded(content, realClock.nowMs()) } };
}
