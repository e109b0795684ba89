// Texts of feeds for tests.
import { publicBlocklist } from "./public-blocklist.ts";

/** Addresses like those in a large public list: one per line, unsorted, most of them the only one in their network. */
export function manyAddresses(count: number): readonly string[] {
  const base = publicBlocklist();
  const addresses = new Set<string>();
  for (let round = 0; addresses.size < count; round += 1) {
    for (const address of base) {
      const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
      addresses.add(`${1 + ((a + round * 7) % 223)}.${b}.${(c + round) % 256}.${(d + round * 13) % 256}`);
      if (addresses.size === count) break;
    }
  }
  return [...addresses];
}
