// Whether clients are on the lists, or exempt from blocking, and which of them a rule could block.
import { networkOf } from "../address/entry.ts";
import { NetworkIndex } from "../address/ranges.ts";
import { observeSpellings } from "../model/observe-spellings.ts";
import type { Entry } from "../address/entry.ts";
import { isOpaque, parseDeclaredEntry } from "../address/entry.ts";
import { compileDesired } from "../plan/instance/desired.ts";
import { specialPurposeObjection } from "../plan/lists/special-purpose.ts";
import type { InstanceSight } from "../cli/targets/target.ts";

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

/** What the declaration of an instance adds to the two lists of its WAF. */
export interface DeclaredLists {
  readonly exemptions: readonly Exemption[];
  /** The entries of the Block rules. */
  readonly declared: NetworkIndex;
  /** What could not be read, one sentence each. */
  readonly notes: readonly string[];
}

export function declaredLists({ gathered, inventory, gaps }: InstanceSight, nowMs: number): DeclaredLists {
  const { rules, lists } = compileDesired(gathered, nowMs, inventory);
  // Includes Allow rules that another rule overrides: a person decided that these addresses should not be blocked.
  const allowed = rules
    .filter(({ rule, expired, isAttached }) => rule.action === "Allow" && !expired && isAttached)
    .flatMap(({ parts }) => parts.flatMap(({ entries }) => [...entries.keys()]));
  const hosts = gathered.origins.map(({ host }) => host);
  const exempt = (gathered.autoBlocks ?? []).flatMap(({ exempt }) => exempt);
  return {
    exemptions: [
      { why: "an Allow rule", networks: new NetworkIndex(allowed) },
      exemptionOf("neverBlock", gathered.instance.guards.neverBlock),
      exemptionOf("a declared origin", hosts),
      exemptionOf("a WafAutoBlock", exempt),
    ],
    declared: new NetworkIndex(lists.blocklist.keys()),
    notes: gaps,
  };
}

export interface KnownLists {
  /** As the WAF returned them; undefined for a list that could not be read. */
  readonly blocklist: readonly string[] | undefined;
  readonly allowlist: readonly string[] | undefined;
  readonly exemptions?: readonly Exemption[];
  readonly declared?: NetworkIndex | undefined;
}

/** Returns a function that tells the state of a client or a network. */
export function listStates({
  blocklist,
  allowlist,
  exemptions = [],
  declared,
}: KnownLists): (entry: Entry) => ListState {
  const listed = indexOf(blocklist);
  const allowed = indexOf(allowlist);
  return (entry) => {
    if (isOpaque(entry)) return { state: "NoAddress" };
    const listedBy = listed?.containing(entry);
    const allowedBy = allowed?.containing(entry);
    if (listedBy !== undefined) return { state: "Listed", by: listedBy, allowedBy };
    if (allowedBy !== undefined) return { state: "Allowed", by: allowedBy };
    for (const { why, networks } of exemptions) {
      const by = networks.overlaps(entry);
      if (by !== undefined) return { state: "Exempt", by, why };
    }
    if (!isAddress(entry)) return { state: "NoAddress" };
    const declaredBy = declared?.containing(entry);
    if (declaredBy !== undefined) return { state: "Declared", by: declaredBy };
    return { state: listed === undefined || allowed === undefined ? "Unknown" : "NotListed" };
  };
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
  return specialPurposeObjection(entry, networkOf(entry)) === undefined;
}

function indexOf(spellings: readonly string[] | undefined): NetworkIndex | undefined {
  return spellings && new NetworkIndex(observeSpellings(spellings).keys());
}

/** The log of a WAF contains one client per row; blocking a network would block everyone in it. */
function isAddress(entry: Entry): boolean {
  const { family, prefixLength } = networkOf(entry);
  return prefixLength === (family === "ipv4" ? 32 : 128);
}
