// Determines which shard works on a WAF: rendezvous hashing of its API key's fingerprint. Every process computes the same shard, all
// instances with the same key share it, and changing the number of shards moves as few keys as possible. Processes of different
// versions run at the same time during an update, so this function must never change.

/** @param fingerprint of an API key: hexadecimal digits that are evenly distributed */
export function shardOfKey(fingerprint: string, shards: number): number {
  const halves = [Number.parseInt(fingerprint.slice(0, 8), 16), Number.parseInt(fingerprint.slice(8, 16), 16)];
  let best = 0;
  let bestWeight = -1;
  for (let shard = 0; shard < shards; shard += 1) {
    // The second half only decides between equal weights of 32 bits.
    const weight = mixed(halves[0] ?? 0, shard) * 0x1_0000 + (mixed(halves[1] ?? 0, shard) & 0xffff);
    if (weight > bestWeight) [best, bestWeight] = [shard, weight];
  }
  return best;
}

/** The finalizer of MurmurHash3, which changes every bit with a chance of one half. */
function mixed(value: number, shard: number): number {
  let hash = (value ^ Math.imul(shard + 1, 0x9e37_79b1)) >>> 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
