// How replicas divide the shards among themselves: each takes free shards; replicas with fewer shards go first. A replica with at least
// two fewer than another one asks for a shard, and the replica with the most shards gives one up.

/** The replica that holds each shard, by the shard's number, as far as known. */
export type ShardHolders = ReadonlyMap<number, string>;

/** In renewal periods: how much longer a replica waits before it takes a free shard, for each shard that it already holds. */
const delayPeriodsPerShard = 0.35;
const delayPeriodsMax = 1.4;
/** In renewal periods: while another replica asks for a shard, it gets this much time to take a free one. */
const askerDelayPeriods = 3;

export function loadOf(holders: ShardHolders, replica: string): number {
  return [...holders.values()].filter((holder) => holder === replica).length;
}

/** Whether this replica should ask for one more shard. */
export function wantsShard(holders: ShardHolders, own: string): boolean {
  return mostLoaded(holders).load - loadOf(holders, own) >= 2;
}

/** The shard to give up for the asking replica; undefined for none. */
export function shardToGive(holders: ShardHolders, own: string, asker: string | undefined): number | undefined {
  if (asker === undefined || asker === own) return undefined;
  const most = mostLoaded(holders);
  if (most.replica !== own || most.load - loadOf(holders, asker) < 2) return undefined;
  return Math.max(...[...holders].filter(([, holder]) => holder === own).map(([shard]) => shard));
}

export interface TakeDelay {
  /** How often Leases are renewed and read. */
  readonly periodMs: number;
  /** The replica that asks for a shard; undefined if none does. */
  readonly asker: string | undefined;
}

/** How long a shard has to be free before this replica takes it. */
export function takeDelayMs(holders: ShardHolders, own: string, { periodMs, asker }: TakeDelay): number {
  if (asker !== undefined && asker !== own) return askerDelayPeriods * periodMs;
  return Math.min(loadOf(holders, own) * delayPeriodsPerShard, delayPeriodsMax) * periodMs;
}

/** If several have the same number, the first by name, so only one gives up a shard. */
function mostLoaded(holders: ShardHolders): { readonly replica: string | undefined; readonly load: number } {
  let most: { replica: string | undefined; load: number } = { replica: undefined, load: 0 };
  for (const replica of [...new Set(holders.values())].sort()) {
    const load = loadOf(holders, replica);
    if (load > most.load) most = { replica, load };
  }
  return most;
}
