// Computes the hash of a feed's content, so that a user can accept exactly this content. Ignores order and comments,
// because many lists change both at every fetch.
import { createHash } from "node:crypto";
import type { FeedContent } from "../../model/feed.ts";

const digitsShown = 16;

export function contentHash({ entries }: FeedContent): string {
  const hash = createHash("sha256").update("wafsync feed\0");
  for (const entry of entries.toSorted()) hash.update(entry).update("\n");
  return hash.digest("hex").slice(0, digitsShown);
}
