// Determines which addresses are on the public internet and may be the target of a URL from a user. Everything that is not known
// to be public is internal, so this table is stricter than the one for entries of a WAF's lists. An address that contains an IPv4
// address, as in NAT64 and 6to4, is classified by that address. It uses Node's block lists, so that commands that do not need it
// load no library.
import { BlockList, isIPv4, isIPv6 } from "node:net";

type Network = readonly [first: string, prefixLength: number];

/** IPv4 networks of the IANA registry of special-purpose addresses, and one address that only appears to be public. */
const innerIpv4: readonly Network[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["168.63.129.16", 32], // Azure's host services: reachable from each virtual machine and from nowhere else.
  ["169.254.0.0", 16], // Link-local, with the metadata services of most clouds.
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3], // Multicast and reserved.
];

/** The only publicly routed IPv6 addresses, according to the IANA registry of the IPv6 address space. */
const globalUnicast: readonly Network[] = [["2000::", 3]];

/** Exceptions. 2001::/23 contains Teredo and other protocols, but no web servers. */
const innerIpv6: readonly Network[] = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["3fff::", 20],
];

/** IPv6 addresses that end in an IPv4 address. */
const endsInIpv4: readonly Network[] = [
  ["::ffff:0:0", 96],
  ["64:ff9b::", 96],
];

const sixToFour: readonly Network[] = [["2002::", 16]];

/** Whether the address is on the public internet. False for a string that is not an address, and for an address with a zone. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !isIn(innerIpv4, address, "ipv4");
  if (address.includes("%") || !isIPv6(address)) return false;
  const embedded = embeddedIpv4(address);
  if (embedded !== undefined) return !isIn(innerIpv4, embedded, "ipv4");
  return isIn(globalUnicast, address, "ipv6") && !isIn(innerIpv6, address, "ipv6");
}

/** The IPv4 address that an IPv6 address contains; undefined if it contains none. */
function embeddedIpv4(address: string): string | undefined {
  if (isIn(endsInIpv4, address, "ipv6")) return ipv4Of(groupsOf(address).slice(6));
  return isIn(sixToFour, address, "ipv6") ? ipv4Of(groupsOf(address).slice(1, 3)) : undefined;
}

function ipv4Of([high = 0, low = 0]: readonly number[]): string {
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join(".");
}

/** The eight groups of 16 bits. */
function groupsOf(address: string): number[] {
  // A URL writes every group in hexadecimal, whatever the spelling.
  const [front = "", back] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const read = (text = ""): number[] => (text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16)));
  const [head, tail] = [read(front), read(back)];
  return [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => 0), ...tail];
}

const lists = new Map<readonly Network[], BlockList>();

function isIn(networks: readonly Network[], address: string, family: "ipv4" | "ipv6"): boolean {
  const list = lists.get(networks) ?? new BlockList();
  if (!lists.has(networks)) {
    lists.set(networks, list);
    for (const [first, prefixLength] of networks) list.addSubnet(first, prefixLength, family);
  }
  return list.check(address, family);
}
