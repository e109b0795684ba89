// The feeds of a cluster, and which of them are used. Only feeds that an attached rule uses are fetched and kept: anyone who may create
// feeds could otherwise use all memory and all fetches of the operator.
import type { ObjectChange } from "../../kube/store.ts";
import { type DeclaredFeed, type DeclaredFeeds, mayUseFeed } from "../../model/declared-feed.ts";
import { nameKey } from "../../model/resource.ts";
import { watchedLabels } from "./attached-namespaces.ts";
import { type ClusterObject, feedKeysOf, isMeaningfulChange } from "./cluster-object.ts";
import type { ClusterStores } from "./cluster-watches.ts";
import type { InstanceChanges } from "./instance-changes.ts";
import { parseObject } from "./parse-object.ts";

export class FeedObjects {
  readonly #stores: ClusterStores;
  readonly #changes: InstanceChanges;
  readonly #onChange: () => void;

  /** @param onChange called when the declared feeds, or their use, may have changed. Must return immediately. */
  constructor(stores: ClusterStores, changes: InstanceChanges, onChange: () => void) {
    this.#stores = stores;
    this.#changes = changes;
    this.#onChange = onChange;
  }

  /** A feed has changed, or an instance, and with it the access to it. */
  changed(change: ObjectChange<ClusterObject>): void {
    if (change.type !== "Changed" || isMeaningfulChange(change.old, change.object)) this.#onChange();
  }

  /** A rule has changed, which may use feeds. */
  ruleChanged(change: ObjectChange<ClusterObject>): void {
    const versions = change.type === "Changed" ? [change.old, change.object] : [change.object];
    if (versions.some((rule) => feedKeysOf(rule).length > 0)) this.changed(change);
  }

  /** A namespace has other labels, and perhaps other access to instances and feeds. */
  namespaceChanged(): void {
    if (this.#stores.byKind.WafFeed.list().length > 0) this.#onChange();
  }

  /** Call this when rules see other content, or other access, in these feeds (`namespace/name`). */
  contentChanged(feeds: Iterable<string>): void {
    this.#changes.touchUsersOfFeeds(feeds);
  }

  /** All valid feeds that are not being deleted. */
  declared(): DeclaredFeeds {
    const feeds = this.#stores.byKind.WafFeed.list().flatMap((object) => {
      const parsed = parseObject("WafFeed", object);
      return parsed.ok && !parsed.declared.meta.deleting ? [parsed.declared] : [];
    });
    const { used = [], unused = [] } = Object.groupBy(feeds, (feed) => (this.#isUsed(feed) ? "used" : "unused"));
    return { used, unused };
  }

  #isUsed(feed: DeclaredFeed): boolean {
    const labelsOf = watchedLabels(this.#stores);
    return this.#stores.byKind.WafIpRule.listBy("feed", nameKey(feed.meta)).some((rule) => {
      const { namespace = "" } = rule.metadata;
      const isAllowed = mayUseFeed(feed, { namespace, labels: labelsOf(namespace) });
      return isAllowed && this.#changes.concernedBy("WafIpRule", rule).length > 0;
    });
  }
}
