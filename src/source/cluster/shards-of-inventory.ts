// Encodes an inventory as shards, in slices: a large one would block the event loop for longer than a request may wait.
import type { Clock } from "../../async/clock.ts";
import { inSlices } from "../../async/time-slices.ts";
import { finished } from "../../model/finished.ts";
import type { Inventory } from "../../model/inventory.ts";
import { encodeInSlices } from "../inventory-codec.ts";
import { shardInventory } from "../inventory-shards.ts";

/** Maximum bytes of text in an object: etcd accepts 1.5 MiB, including escapes and metadata. */
const shardBytesMaxDefault = 900 * 1024;

export interface ShardOptions {
  readonly shardBytesMax?: number;
  /** If absent, everything is encoded without a pause. */
  readonly clock?: Pick<Clock, "monotonicMs" | "sleep">;
}

export async function shardsOf(
  inventory: Inventory,
  { shardBytesMax = shardBytesMaxDefault, clock }: ShardOptions,
): Promise<Record<string, string>[]> {
  const slices = encodeInSlices(inventory);
  const record = clock === undefined ? finished(slices) : await inSlices(clock, slices);
  return shardInventory(record, shardBytesMax);
}
