// Whether clients are on the lists, or exempt from blocking, and which of them a rule could block.
import { headOf } from "../../model/entry-head.ts";
import { NetworkIndex, observeSpellings } from "../../model/entry-set.ts";
import type { Entry } from "../../model/entry.ts";
import { isOpaque, parseDeclaredEntry } from "../../model/entry.ts";
import { specialPurposeObjection } from "../../plan/lists/special-purpose.ts";

/**
 * `by` is the widest entry or network that contains the client.
 * - `Listed`: on the blocklist, and perhaps on the allowlist, too.
 * - `Allowed`: on the allowlist.
 * - `Exempt`: never to be blocked, for the reason in `why`.
 * - `Declared`: a rule blocks it, but it is not on the blocklist yet.
 * - `Unknown`: a list could not be read.
 * - `NoAddress`: not a single IP address, so no rule should name it.
 */
export type ListState =
  | { readonly state: "Listed"; readonly by: Entry; readonly allowedBy: Entry | undefined }
  | { readonly state: "Allowed" | "Declared"; readonly by: Entry }
  | { readonly state: "Exempt"; readonly by: Entry; readonly why: string }
  | { readonly state: "NotListed" | "NoAddress" | "Unknown" };

/** Networks that must never be blocked, and why, for example `an Allow rule`. */
export interface Exemption {
  readonly why: string;
  readonly networks: NetworkIndex;
}

/** @param texts may also contain host names, which are skipped */
export function exemptionOf(why: string, texts: readonly string[]): Exemption {
  const networks = texts.flatMap((text) => {
    const read = parseDeclaredEntry(text);
    return read.ok ? [read.entry] : [];
  });
  return { why, networks: new NetworkIndex(networks) };
}

export interface KnownLists {
  /** As the WAF returned them; undefined for a list that could not be read. */
  readonly blocklist: readonly string[] | undefined;
  readonly allowlist: readonly string[] | undefined;
  readonly exemptions?: readonly Exemption[];
  /** The entries of the declared Block rules. */
  readonly declared?: NetworkIndex | undefined;
}

export class ClientLists {
  readonly #listed: NetworkIndex | undefined;
  readonly #allowed: NetworkIndex | undefined;
  readonly #exemptions: readonly Exemption[];
  readonly #declared: NetworkIndex | undefined;

  constructor({ blocklist, allowlist, exemptions = [], declared }: KnownLists) {
    this.#listed = indexOf(blocklist);
    this.#allowed = indexOf(allowlist);
    this.#exemptions = exemptions;
    this.#declared = declared;
  }

  /** The state of a client or a network. */
  stateOf(entry: Entry): ListState {
    if (isOpaque(entry)) return { state: "NoAddress" };
    const listedBy = this.#listed?.containing(entry);
    const allowedBy = this.#allowed?.containing(entry);
    if (listedBy !== undefined) return { state: "Listed", by: listedBy, allowedBy };
    if (allowedBy !== undefined) return { state: "Allowed", by: allowedBy };
    for (const { why, networks } of this.#exemptions) {
      const by = networks.overlaps(entry);
      if (by !== undefined) return { state: "Exempt", by, why };
    }
    if (!isAddress(entry)) return { state: "NoAddress" };
    const declaredBy = this.#declared?.containing(entry);
    if (declaredBy !== undefined) return { state: "Declared", by: declaredBy };
    const isUnknown = this.#listed === undefined || this.#allowed === undefined;
    return { state: isUnknown ? "Unknown" : "NotListed" };
  }
}

/**
 * The addresses that a rule could block, in the given order. Private, loopback and other special-purpose addresses are skipped: they
 * are not clients on the public Internet, and wafsync would reject them.
 */
export function addressesToBlock(
  clients: readonly { readonly entry: Entry; readonly lists: ListState }[],
): readonly Entry[] {
  return clients.filter(({ lists, entry }) => lists.state === "NotListed" && isPublic(entry)).map(({ entry }) => entry);
}

function isPublic(entry: Entry): boolean {
  return specialPurposeObjection(entry, headOf(entry)) === undefined;
}

function indexOf(spellings: readonly string[] | undefined): NetworkIndex | undefined {
  return spellings && new NetworkIndex(observeSpellings(spellings).keys());
}

/** The log of a WAF contains one client per row; blocking a network would block everyone in it. */
function isAddress(entry: Entry): boolean {
  const { family, prefixLength } = headOf(entry);
  return prefixLength === (family === "ipv4" ? 32 : 128);
}
