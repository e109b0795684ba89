// The revision of an inventory: the versions of its shards, which are the precondition of the next save.
import type { InventoryShard } from "./record-shard-store.ts";

/** By number, starting at 1. */
export type Shards = ReadonlyMap<number, InventoryShard>;

/** `1=<resourceVersion>,2=…`; with a `!` after the version of an object that is being deleted. */
export function revisionOf(shards: Shards): string {
  return [...shards]
    .sort(([left], [right]) => left - right)
    .map(([index, { resourceVersion, isEnding }]) => `${index}=${resourceVersion}${isEnding ? "!" : ""}`)
    .join(",");
}

/** Shards of which only the versions are known. */
export function parseRevision(revision: string): Map<number, InventoryShard> {
  const parts = revision === "" ? [] : revision.split(",").map((part) => part.split("="));
  return new Map(
    parts.map(([index = "", version = ""]) => [
      Number(index),
      { stored: undefined, resourceVersion: version.replace("!", ""), isEnding: version.endsWith("!"), data: {} },
    ]),
  );
}
