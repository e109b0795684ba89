// Addresses like those of a large public threat feed: unsorted, and most of them the only one in their network.
import { below, seededRandom } from "./seeded-random.ts";

/** First octets of networks that are at least partly unrouted: such feeds do not contain them. */
const unrouted = new Set([0, 10, 100, 127, 169, 172, 192, 198, 203]);

/** Different addresses, which are always the same. */
export function manyAddresses(count: number): readonly string[] {
  const random = seededRandom(20_260_822);
  const addresses = new Set<string>();
  while (addresses.size < count) {
    const octets = [224, 256, 256, 256].map((limit) => below(random, limit));
    if (!unrouted.has(octets[0] ?? 0)) addresses.add(octets.join("."));
  }
  return [...addresses];
}
