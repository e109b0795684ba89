// Resolves the host of a connection once and checks every returned address. The socket connects to one of these addresses, so a
// DNS response that changes after the check has no effect. Node.js looks up only names: callers that open connections must also
// call `refusedLiteral` for hosts that are addresses.
import { type LookupAddress, lookup } from "node:dns";
import { isIP, type LookupFunction, BlockList, isIPv4, isIPv6 } from "node:net";

/** The error code of a connection that the policy rejects. */
export const addressRefused = "ADDRESS_REFUSED";

export type AllowAddress = (address: string) => boolean;

/** Calls back with all addresses of a host, in the order in which to try them, like `dns.lookup` of Node.js. */
export type ResolveHost = (
  host: string,
  options: { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void,
) => void;

/** The `lookup` option of `net.connect` and `tls.connect`. One rejected address rejects the host. */
export function createCheckedLookup(isAllowed: AllowAddress, resolve: ResolveHost = lookup): LookupFunction {
  return (host, { all, family }, callback) => {
    resolve(host, { all: true }, (error, addresses) => {
      if (error !== null) return callback(error, "");
      const wanted = addresses.filter((one) => !family || one.family === family || `IPv${one.family}` === family);
      const [first] = wanted;
      if (first === undefined) return callback(coded("ENOTFOUND", "The host has no address."), "");
      if (!addresses.every(({ address }) => isAllowed(address))) return callback(refusal(), "");
      return all === true ? callback(null, [...wanted]) : callback(null, first.address, first.family);
    });
  };
}

/** The error for a host that is a rejected address. Undefined for names, which the lookup checks. */
export function refusedLiteral(host: string, isAllowed: AllowAddress): NodeJS.ErrnoException | undefined {
  const address = host.replace(/^\[(.*)\]$/, "$1");
  return isIP(address) !== 0 && !isAllowed(address) ? refusal() : undefined;
}

function refusal(): NodeJS.ErrnoException {
  return coded(addressRefused, "The host has an address that is not on the public Internet.");
}

function coded(code: string, message: string): NodeJS.ErrnoException {
  return Object.assign(new Error(message), { code });
}

// Determines which addresses are on the public internet and may be the target of a URL from a user. Everything that is not known
// to be public is internal, so this table is stricter than the one for entries of a WAF's lists. An address that contains an IPv4
// address, as in NAT64 and 6to4, is classified by that address. It uses Node's block lists, so that commands that do not need it
// load no library.

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

/**
 * The publicly routed IPv6 addresses, according to the IANA registry of the IPv6 address space, with 6to4, and those that end in an
 * IPv4 address: mapped ones and those of NAT64.
 */
const publicIpv6: readonly Network[] = [
  ["2000::", 3],
  ["::ffff:0:0", 96],
  ["64:ff9b::", 96],
];

/** Exceptions. 2001::/23 contains Teredo and other protocols, but no web servers. */
const innerIpv6: readonly Network[] = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["3fff::", 20],
  ...innerIpv4.flatMap(([first, length]): Network[] => [
    [`64:ff9b::${first}`, 96 + length],
    [sixToFour(first), 16 + length],
  ]),
];

function sixToFour(ipv4: string): string {
  const hex = ipv4.split(".").map((octet) => Number(octet).toString(16).padStart(2, "0"));
  return `2002:${hex[0]}${hex[1]}:${hex[2]}${hex[3]}::`;
}

/** Checks a mapped address as the IPv4 address that it contains. */
const inner = new BlockList();
const routed = new BlockList();
for (const [first, length] of innerIpv4) inner.addSubnet(first, length, "ipv4");
for (const [first, length] of innerIpv6) inner.addSubnet(first, length, "ipv6");
for (const [first, length] of publicIpv6) routed.addSubnet(first, length, "ipv6");

/** Whether the address is on the public internet. False for a string that is not an address, and for an address with a zone. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !inner.check(address, "ipv4");
  if (address.includes("%") || !isIPv6(address)) return false;
  return routed.check(address, "ipv6") && !inner.check(address, "ipv6");
}
