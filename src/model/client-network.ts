// The network of a client: the /24 of an IPv4 address, or the /64 of an IPv6 address, which one customer usually has.
import type { Entry } from "./entry.ts";
import { isOpaque, prefixLengthOf } from "./entry.ts";
import { canonicalText, prefixLengthMax, readCanonical } from "./network.ts";

const prefixLengths = { ipv4: 24, ipv6: 64 } as const;

/** Undefined unless the client is a single address. */
export function networkOf(client: Entry): Entry | undefined {
  if (isOpaque(client)) return undefined;
  const network = readCanonical(client);
  if (prefixLengthOf(client) !== prefixLengthMax(network.family)) return undefined;
  return canonicalText({ ...network, prefixLength: prefixLengths[network.family] }) as Entry;
}
