// Which addresses are on the public Internet: what a URL that a user chose may lead to. Everything that is not known to be
// public counts as inner, so this table is stricter than the one for entries of a WAF's lists. An address that contains an
// IPv4 address, as NAT64 and 6to4 write them, is judged by that one.
// Node's own lists do the arithmetic: commands that never ask load no library for it.
import { BlockList, isIPv4, isIPv6 } from "node:net";

type Network = readonly [first: string, prefixLength: number];

/** IPv4 networks of the IANA registry of special-purpose addresses, and one address that only looks public. */
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

/** The only IPv6 addresses that are routed publicly, as the IANA registry of the IPv6 address space says. */
const globalUnicast: readonly Network[] = [["2000::", 3]];

/** Exceptions from it. 2001::/23 has Teredo and other protocols; none of them has a web server. */
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

/** Whether the address is on the public Internet. False for a text that is no address, and for one with a zone. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !isIn(innerIpv4, address, "ipv4");
  if (address.includes("%") || !isIPv6(address)) return false;
  const embedded = embeddedIpv4(address);
  if (embedded !== undefined) return !isIn(innerIpv4, embedded, "ipv4");
  return isIn(globalUnicast, address, "ipv6") && !isIn(innerIpv6, address, "ipv6");
}

/** The IPv4 address that an IPv6 address leads to; undefined if it leads to none. */
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
