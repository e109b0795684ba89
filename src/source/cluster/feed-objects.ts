// The feeds of a cluster, the relevant changes, and their users. A feed affects an instance only when its content changes, which
// is determined by its fetch.
import type { ObjectChange } from "../../kube/reflector.ts";
import type { DeclaredFeed } from "../../model/declared-feed.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";
import { type ClusterObject, isMeaningfulChange } from "./cluster-object.ts";
import type { ClusterStores } from "./cluster-watches.ts";
import { parseObject } from "./parse-object.ts";

export class FeedObjects {
  readonly #stores: ClusterStores;
  readonly #onChange: () => void;

  constructor(stores: ClusterStores, onChange: () => void) {
    this.#stores = stores;
    this.#onChange = onChange;
  }

  changed(change: ObjectChange<ClusterObject>): void {
    if (change.type !== "Changed" || isMeaningfulChange(change.old, change.object)) this.#onChange();
  }

  /** Every valid feed that is not being deleted. */
  declared(): DeclaredFeed[] {
    return this.#stores.byKind.WafFeed.list().flatMap((object) => {
      const parsed = parseObject("WafFeed", object);
      return parsed.ok && !parsed.declared.meta.deleting ? [parsed.declared] : [];
    });
  }

  /** The instances of all rules that use feeds. */
  users(): ObjectName[] {
    const users = new Map<string, ObjectName>();
    for (const object of this.#stores.byKind.WafIpRule.list()) {
      const parsed = parseObject("WafIpRule", object);
      if (!parsed.ok || parsed.declared.feeds.length === 0) continue;
      users.set(nameKey(parsed.declared.instance), parsed.declared.instance);
    }
    return [...users.values()];
  }
}
