// Determines which feeds block requests on a WAF.
import type { Gathered } from "../../model/gathered.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";
import { feedTextFor, type FeedView } from "./feed-access.ts";

/** The feeds whose entries are blocked on the WAF of this instance. */
export function blockingFeeds(
  { instance, rules, namespaceLabels }: Gathered,
  view: (feed: ObjectName) => FeedView | undefined,
): readonly ObjectName[] {
  if (instance.suspend || instance.policies.blocklist === "Observe") return [];
  const used = new Map<string, ObjectName>();
  for (const { rule } of rules) {
    if (rule.action !== "Block") continue;
    const { namespace } = rule.meta;
    const user = { namespace, labels: namespaceLabels.get(namespace) };
    for (const feed of rule.feeds) {
      if (feedTextFor(feed, view(feed), user).state === "Listed") used.set(nameKey(feed), feed);
    }
  }
  return [...used.values()];
}
