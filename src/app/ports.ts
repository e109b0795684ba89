// What all runs of a process work with, in a cluster and over a folder.
import type { BlockBook } from "../blocks/block-book.ts";
import { withAutoBlocks } from "../blocks/block-rules.ts";
import { blockStatusFrom } from "../blocks/block-status.ts";
import { CacheClears } from "../clears/clears.ts";
import type { FeedBook } from "../feeds/feed-book.ts";
import { withFeeds } from "../feeds/feed-source.ts";
import type { Redactor } from "../model/redactor.ts";
import type { ReconcilePorts, SourcePort } from "../run/ports.ts";
import { type BaseUrlPolicy, baseUrlObjection } from "./base-url-policy.ts";
import type { Stopping } from "./stopping.ts";

type Derived = "source" | "statusOf" | "newHooks" | "baseUrlObjection" | "stopping" | "abandon";

export interface PortsOptions extends Omit<ReconcilePorts, Derived> {
  readonly declared: SourcePort;
  readonly feeds: Pick<FeedBook, "view">;
  readonly blocks: Pick<BlockBook, "view" | "version" | "known">;
  readonly baseUrls: BaseUrlPolicy;
  readonly redactor: Redactor;
  readonly stopping: Stopping;
}

/** `fed` has the entries of feeds, and not yet those of automatic blocks. Call this once, because plans are cached by what it returns. */
export function portsOf(options: PortsOptions): ReconcilePorts & { readonly fed: SourcePort } {
  const { declared, feeds, blocks, baseUrls, redactor, stopping, ...ports } = options;
  const gather: SourcePort["gather"] = async (name) => {
    const gathered = await declared.gather(name);
    if (gathered?.key.state === "Present") redactor.add(gathered.key.key, name.namespace);
    return gathered;
  };
  const fed = withFeeds({ ...declared, gather }, feeds);
  return {
    ...ports,
    fed,
    source: withAutoBlocks(fed, blocks),
    statusOf: blockStatusFrom(blocks),
    newHooks: () => new CacheClears(),
    baseUrlObjection: (baseUrl) => baseUrlObjection(baseUrls, baseUrl),
    stopping: stopping.stop,
    abandon: stopping.abandon,
  };
}
