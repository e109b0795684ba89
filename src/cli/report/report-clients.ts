// Which clients of blocked requests are on the blocklist already, and which a rule could add.
import type { Entry } from "../../model/entry.ts";
import { isOpaque } from "../../model/entry.ts";
import { NetworkIndex, observeSpellings } from "../../model/entry-set.ts";
import type { ClientCount } from "./report-statistics.ts";

/**
 * - `Listed`: `by` is the widest entry of the list that contains the address. `Unknown`: the list could not be read.
 * - `NoAddress`: what the log has for a client is no IP address, so no rule can name it.
 */
export type ListState =
  | { readonly state: "Listed"; readonly by: Entry }
  | { readonly state: "NotListed" | "NoAddress" | "Unknown" };

export interface AssessedClient extends ClientCount {
  readonly blocklist: ListState;
}

/** @param spellings What the blocklist shows; undefined if it could not be read. */
export function assessClients(
  clients: readonly ClientCount[],
  spellings: readonly string[] | undefined,
): AssessedClient[] {
  const index = spellings && new NetworkIndex(observeSpellings(spellings).keys());
  return clients.map((client) => ({ ...client, blocklist: stateOf(client.entry, index) }));
}

/** The addresses that are surely not on the list, in the order of the clients. */
export function addressesToBlock(clients: readonly AssessedClient[]): Entry[] {
  return clients.filter(({ blocklist }) => blocklist.state === "NotListed").map(({ entry }) => entry);
}

function stateOf(entry: Entry, index: NetworkIndex | undefined): ListState {
  if (isOpaque(entry)) return { state: "NoAddress" };
  if (index === undefined) return { state: "Unknown" };
  const by = index.containing(entry);
  return by === undefined ? { state: "NotListed" } : { state: "Listed", by };
}
