// The client of a log row as an entry. Only `client_ip` counts, never a header that the client controls, and only if it is a single
// address: a network or a list of addresses would block other clients.
import type { PrefixLengths } from "../../model/declared.ts";
import { type Entry, toEntry } from "../../address/entry.ts";
import { isMapped, networkAt, readAddress, unmapped } from "../../address/network.ts";

export interface ClientAddress {
  readonly address: Entry;
  /** Undefined if no network was requested. */
  readonly network: Entry | undefined;
}

/** Undefined unless the string is a single address. @param prefixLengths the lengths of networks; undefined if none is needed */
export function readClientAddress(text: string, prefixLengths: PrefixLengths | undefined): ClientAddress | undefined {
  const read = readAddress(text.trim());
  if (read === undefined) return undefined;
  const client = (isMapped(read) ? unmapped(read) : undefined) ?? read;
  const prefixLength = prefixLengths?.[client.family];
  return {
    address: toEntry(client),
    network: prefixLength === undefined ? undefined : toEntry(networkAt(client.family, client.address, prefixLength)),
  };
}
