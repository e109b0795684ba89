// Which addresses are on the public Internet: what a URL that a user chose may lead to. Everything that is not known to be
// public counts as inner, so this table is stricter than the one for entries of a WAF's lists. An address that contains an
// IPv4 address, as NAT64 and 6to4 write them, is judged by that one.
import type { Entry } from "../model/entry.ts";
import { readObservedEntry } from "../model/entry.ts";
import { NetworkIndex } from "../model/entry-set.ts";
import { type Network, canonicalText, isMapped, readAddress } from "../model/network.ts";

/** IPv4 networks of the IANA registry of special-purpose addresses, and one address that only looks public. */
const innerIpv4 = indexOf([
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "168.63.129.16", // Azure's host services: reachable from each virtual machine and from nowhere else.
  "169.254.0.0/16", // Link-local, with the metadata services of most clouds.
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/3", // Multicast and reserved.
]);

/** The only IPv6 addresses that are routed publicly, as the IANA registry of the IPv6 address space says. */
const globalUnicast = indexOf(["2000::/3"]);

/** Exceptions from it. 2001::/23 has Teredo and other protocols; none of them has a web server. */
const innerIpv6 = indexOf(["2001::/23", "2001:db8::/32", "3fff::/20"]);

const nat64 = [0x64, 0xff9b, 0, 0, 0, 0];
const sixToFour = 0x2002;

/** Whether the address is on the public Internet. False for a text that is no address, and for one with a zone. */
export function isPublicAddress(address: string): boolean {
  const network = readAddress(address);
  if (network === undefined) return false;
  const embedded = embeddedIpv4(network);
  if (embedded !== undefined) return !contains(innerIpv4, embedded);
  if (network.family === "ipv4") return !contains(innerIpv4, network);
  return contains(globalUnicast, network) && !contains(innerIpv6, network);
}

/** The IPv4 address that an IPv6 address leads to; undefined if it leads to none. */
function embeddedIpv4(network: Network): Network | undefined {
  const { family, parts } = network;
  if (family !== "ipv6") return undefined;
  if (parts[0] === sixToFour) return ipv4Of(parts[1], parts[2]);
  const isNat64 = nat64.every((part, position) => parts[position] === part);
  return isMapped(network) || isNat64 ? ipv4Of(parts[6], parts[7]) : undefined;
}

function ipv4Of(high = 0, low = 0): Network {
  return { family: "ipv4", parts: [high >> 8, high & 0xff, low >> 8, low & 0xff], prefixLength: 32 };
}

function contains(index: NetworkIndex, network: Network): boolean {
  return index.containing(canonicalText(network) as Entry) !== undefined;
}

function indexOf(networks: readonly string[]): NetworkIndex {
  return new NetworkIndex(networks.map(readObservedEntry));
}
