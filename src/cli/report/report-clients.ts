// Finds clients of blocked requests that are already on the lists, and clients that a rule could block.
import type { Entry } from "../../model/entry.ts";
import { isOpaque } from "../../model/entry.ts";
import { headOf } from "../../model/entry-head.ts";
import { NetworkIndex, observeSpellings } from "../../model/entry-set.ts";
import { specialPurposeObjection } from "../../plan/lists/special-purpose.ts";
import type { ClientCount } from "./report-statistics.ts";

/**
 * - `Listed`, `Allowed`: `by` is the widest entry of the blocklist, or else of the allowlist, that contains the address.
 * - `Unknown`: one of the lists could not be read.
 * - `NoAddress`: what the log has for a client is no single IP address, so no rule should name it.
 */
export type ListState =
  | { readonly state: "Listed" | "Allowed"; readonly by: Entry }
  | { readonly state: "NotListed" | "NoAddress" | "Unknown" };

export interface AssessedClient extends ClientCount {
  readonly blocklist: ListState;
}

/** The contents of the lists; undefined for a list that could not be read. */
export interface ReadLists {
  readonly blocklist: readonly string[] | undefined;
  readonly allowlist: readonly string[] | undefined;
}

export function assessClients(clients: readonly ClientCount[], { blocklist, allowlist }: ReadLists): AssessedClient[] {
  const listed = indexOf(blocklist);
  const allowed = indexOf(allowlist);
  return clients.map((client) => ({ ...client, blocklist: stateOf(client.entry, listed, allowed) }));
}

/**
 * The addresses that are on neither list, in the order of the clients. Private, loopback and other special-purpose addresses are
 * skipped: they are not clients on the public Internet, and wafsync would reject them.
 */
export function addressesToBlock(clients: readonly AssessedClient[]): Entry[] {
  return clients
    .filter(({ blocklist, entry }) => blocklist.state === "NotListed" && isPublic(entry))
    .map(({ entry }) => entry);
}

function isPublic(entry: Entry): boolean {
  return specialPurposeObjection(entry, headOf(entry)) === undefined;
}

function indexOf(spellings: readonly string[] | undefined): NetworkIndex | undefined {
  return spellings && new NetworkIndex(observeSpellings(spellings).keys());
}

function stateOf(entry: Entry, listed: NetworkIndex | undefined, allowed: NetworkIndex | undefined): ListState {
  if (isOpaque(entry) || !isAddress(entry)) return { state: "NoAddress" };
  const listedBy = listed?.containing(entry);
  if (listedBy !== undefined) return { state: "Listed", by: listedBy };
  const allowedBy = allowed?.containing(entry);
  if (allowedBy !== undefined) return { state: "Allowed", by: allowedBy };
  return { state: listed === undefined || allowed === undefined ? "Unknown" : "NotListed" };
}

/** The log of a WAF contains one client per row; blocking a network would block everyone in it. */
function isAddress(entry: Entry): boolean {
  const { family, prefixLength } = headOf(entry);
  return prefixLength === (family === "ipv4" ? 32 : 128);
}
