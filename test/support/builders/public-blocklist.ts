// A generated list like those of public threat feeds: 1,413 IPv4 addresses, one per line, without comments. Most
// are the only one in their network of 256 addresses, and a few networks have dozens. The feed is sorted by the number of sources
// of an address, and then by the address, so it looks unsorted. The addresses themselves have no meaning.
import { seededRandom } from "./seeded-random.ts";

const seed = 20_260_822;
/** Pairs of a number of addresses and the number of networks with that many addresses. */
const networkSizes: readonly (readonly [size: number, networks: number])[] = [
  [1, 707],
  [2, 41],
  [3, 16],
  [4, 9],
  [5, 9],
  [6, 3],
  [7, 7],
  [9, 2],
  [10, 1],
  [11, 1],
  [12, 2],
  [13, 2],
  [14, 1],
  [15, 1],
  [16, 1],
  [17, 1],
  [18, 1],
  [19, 1],
  [25, 1],
  [27, 1],
  [31, 2],
  [56, 1],
  [70, 1],
];
/** First octets of networks that are at least partly unrouted: such feeds do not contain them. */
const unrouted = new Set([10, 100, 127, 169, 172, 192, 198, 203]);
/** The share of the addresses with this number of sources that have one more source. */
const moreSources = 0.25;
const sourcesMin = 5;
const sourcesMax = 12;

/** The lines of the feed, which are always the same. */
export function publicBlocklist(): readonly string[] {
  const random = seededRandom(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  const networks = new Set<string>();
  const listed: { readonly address: readonly number[]; readonly sources: number }[] = [];
  for (const [size, count] of networkSizes) {
    for (let made = 0; made < count;) {
      const network = [1 + below(223), below(256), below(256)];
      if (unrouted.has(network[0] ?? 0) || networks.has(network.join("."))) continue;
      networks.add(network.join("."));
      made += 1;
      const hosts = new Set<number>();
      while (hosts.size < size) hosts.add(1 + below(254));
      for (const host of hosts) {
        let sources = sourcesMin;
        while (sources < sourcesMax && random() < moreSources) sources += 1;
        listed.push({ address: [...network, host], sources });
      }
    }
  }
  return listed
    .toSorted((one, other) => other.sources - one.sources || inOrder(one.address, other.address))
    .map(({ address }) => address.join("."));
}

function inOrder(one: readonly number[], other: readonly number[]): number {
  const place = one.findIndex((octet, index) => octet !== other[index]);
  return (one[place] ?? 0) - (other[place] ?? 0);
}
