// Networks that never send requests over the public Internet, according to the IANA registries of special-purpose addresses and
// of the IPv6 address space. Networks for documentation and benchmarks are intentionally omitted: examples and load tests use
// them, and on a real WAF they have no effect. docs/concepts/safety.md explains each choice.
import { type Entry, readObservedEntry } from "../address/entry.ts";
import type { Network } from "../address/network.ts";
import { NetworkIndex, without } from "../address/ranges.ts";

/** A network, its purpose and the RFC. */
type Row = readonly [network: string, purpose: string];

const named: readonly Row[] = [
  ["0.0.0.0/8", "this network, RFC 791"],
  ["10.0.0.0/8", "private use, RFC 1918"],
  ["100.64.0.0/10", "shared by customers of one provider, RFC 6598"],
  ["127.0.0.0/8", "loopback, RFC 1122"],
  ["169.254.0.0/16", "link-local, RFC 3927"],
  ["172.16.0.0/12", "private use, RFC 1918"],
  ["192.0.0.0/24", "IETF protocol assignments, RFC 6890"],
  ["192.88.99.0/24", "former 6to4 relays, RFC 7526"],
  ["192.168.0.0/16", "private use, RFC 1918"],
  ["224.0.0.0/4", "multicast, RFC 5771"],
  ["240.0.0.0/4", "reserved, RFC 1112"],
  ["::", "unspecified, RFC 4291"],
  ["::1", "loopback, RFC 4291"],
  ["64:ff9b:1::/48", "local translation of IPv4, RFC 8215"],
  ["100::/64", "discard only, RFC 6666"],
  ["100:0:0:1::/64", "dummy prefix, RFC 9780"],
  ["2001::/23", "IETF protocol assignments, RFC 2928"],
  ["5f00::/16", "segment routing, RFC 9602"],
  ["fc00::/7", "unique local, RFC 4193"],
  ["fe80::/10", "link-local, RFC 4291"],
  ["fec0::/10", "former site-local, RFC 3879"],
  ["ff00::/8", "multicast, RFC 4291"],
];

/** Global unicast addresses of IPv6 are in 2000::/3; the rest is reserved, except for the named networks. */
const unnamed: readonly Row[] = ["::/3", "4000::/2", "8000::/1"].map((network) => [network, "reserved, RFC 4291"]);

/** Parts of these networks that are used on the public Internet or for benchmarks. */
const exceptions: readonly string[] = [
  "192.0.0.9", // PCP anycast, RFC 7723
  "192.0.0.10", // TURN anycast, RFC 8155
  "64:ff9b::/96", // translation of IPv4, RFC 6052
  "2001::/32", // Teredo, RFC 4380
  "2001:1::1", // PCP anycast, RFC 7723
  "2001:1::2", // TURN anycast, RFC 8155
  "2001:1::3", // DNS-SD service registration anycast, RFC 9665
  "2001:2::/48", // benchmarks, RFC 5180
  "2001:3::/32", // AMT, RFC 7450
  "2001:4:112::/48", // AS112, RFC 7535
  "2001:20::/28", // ORCHIDv2, RFC 7343
  "2001:30::/28", // drone identifiers, RFC 9374
];

const namedIndex = indexOf(named.map(([network]) => network));
const unnamedIndex = indexOf(unnamed.map(([network]) => network));
const anyIndex = indexOf([...named, ...unnamed].map(([network]) => network));
const exceptionIndex = indexOf(exceptions);
const purposes: ReadonlyMap<string, string> = new Map([...named, ...unnamed]);

function indexOf(networks: readonly string[]): NetworkIndex {
  return new NetworkIndex(networks.map(readObservedEntry));
}

/** Whether the entry contains no public address: feeds contain networks as wide as 224.0.0.0/3, which cover several networks above. */
export function isSpecialPurposeOnly(entry: Entry): boolean {
  return without(entry, anyIndex.inside(entry), 1)?.length === 0 || anyIndex.containing(entry) !== undefined;
}

/** Why the entry is rejected: the first special-purpose network that it overlaps. */
export function specialPurposeObjection(entry: Entry, addresses: Network): string | undefined {
  // The fast path for nearly all entries.
  if (anyIndex.overlaps(addresses) === undefined) return undefined;
  if (exceptionIndex.containing(addresses) !== undefined) return undefined;
  const network = namedIndex.overlaps(addresses) ?? unnamedIndex.overlaps(addresses);
  if (network === undefined) return undefined;
  const isInside = anyIndex.containing(addresses) !== undefined;
  const instead = isInside ? "write public addresses" : "write narrower networks that leave it out";
  return `${entry} overlaps ${network} (${purposes.get(network) ?? ""}), which never sends requests over the public Internet: ${instead}, or set spec.guards.specialPurpose of the instance to Allow.`;
}
