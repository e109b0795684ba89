// Whether clients are on the lists, or exempt from blocking, and which of them a rule could block.
import type { Clock } from "../async/clock.ts";
import { inSlices } from "../async/time-slices.ts";
import { NetworkIndex } from "../address/ranges.ts";
import { observeSpellings } from "../model/observed.ts";
import { type Entry, isOpaque, networkOf, parseDeclaredEntry } from "../address/entry.ts";
import { compileInSlices } from "../decide/desired.ts";
import { specialPurposeObjection } from "../decide/special-purpose.ts";
import type { InstanceSight } from "../cli/targets/target.ts";

/**
 * - `Listed`: on the blocklist, and perhaps on the allowlist, too.
 * - `Allowed`: on the allowlist.
 * - `Exempt`: never to be blocked, for the reason in `why`.
 * - `Declared`: a rule blocks it, but it is not on the blocklist yet.
 * - `Unknown`: a list could not be read.
 * - `NoAddress`: not a single IP address, so no rule should name it.
 */
export interface ListState {
  readonly state: "Listed" | "Allowed" | "Exempt" | "Declared" | "NotListed" | "NoAddress" | "Unknown";
  /** The same for people, with the widest entry that contains the client. */
  readonly words: string;
}

const noAddress: ListState = { state: "NoAddress", words: "–" };

/** @param texts may also contain host names, which are skipped */
export function networksIn(texts: readonly string[]): NetworkIndex {
  return new NetworkIndex(texts.map(parseDeclaredEntry).flatMap((read) => (read.ok ? [read.entry] : [])));
}

/** What the declaration of an instance adds to the two lists of its WAF. */
export async function declaredLists({ gathered, inventory, gaps }: InstanceSight, clock: Clock) {
  const { rules, lists } = await inSlices(clock, compileInSlices(gathered, clock.nowMs(), inventory));
  // Includes Allow rules that another rule overrides: a person decided that these addresses should not be blocked.
  const allowed = rules
    .filter(({ rule, expired, isAttached }) => rule.action === "Allow" && !expired && isAttached)
    .flatMap(({ parts }) => parts.flatMap(({ entries }) => [...entries.keys()]));
  return {
    /** Networks that must never be blocked, by the reason. */
    exempt: {
      "an Allow rule": new NetworkIndex(allowed),
      neverBlock: networksIn(gathered.instance.guards.neverBlock),
      "a declared origin": networksIn(gathered.origins.map(({ host }) => host)),
      "a WafAutoBlock": networksIn((gathered.autoBlocks ?? []).flatMap(({ exempt }) => exempt)),
    },
    /** The entries of the Block rules. */
    declared: new NetworkIndex(lists.blocklist.keys()),
    /** What could not be read, one sentence each. */
    notes: gaps,
  };
}

export interface KnownLists {
  readonly exempt?: Readonly<Record<string, NetworkIndex>>;
  readonly declared?: NetworkIndex | undefined;
  /** As the WAF returned them; undefined for a list that could not be read. */
  readonly blocklist: readonly string[] | undefined;
  readonly allowlist: readonly string[] | undefined;
}

/** Returns a function that tells the state of a client. */
export function listStates({ blocklist, allowlist, exempt = {}, declared }: KnownLists): (client: Entry) => ListState {
  const listed = indexOf(blocklist);
  const allowed = indexOf(allowlist);
  return (client) => {
    if (isOpaque(client)) return noAddress;
    const byWords = (by: Entry): string => (by === client ? "" : ` by ${by}`);
    const [listedBy, allowedBy] = [listed?.containing(client), allowed?.containing(client)];
    const isAllowed = allowedBy === undefined ? "" : `allowed${byWords(allowedBy)}`;
    if (listedBy !== undefined)
      return { state: "Listed", words: `blocked${byWords(listedBy)}${isAllowed === "" ? "" : `, ${isAllowed}`}` };
    if (isAllowed !== "") return { state: "Allowed", words: isAllowed };
    const why = Object.keys(exempt).find((one) => exempt[one]?.overlaps(client) !== undefined);
    if (why !== undefined) return { state: "Exempt", words: `exempt (${why})` };
    if (!isAddress(client)) return noAddress;
    if (declared?.containing(client) !== undefined) return { state: "Declared", words: "declared, not blocked yet" };
    if (listed === undefined || allowed === undefined) return { state: "Unknown", words: "unknown" };
    return { state: "NotListed", words: "not on a list" };
  };
}

/**
 * The addresses that a rule could block, in the given order. Private, loopback and other special-purpose addresses are skipped: they
 * are not clients on the public Internet, and wafsync would reject them.
 */
export function addressesToBlock(
  clients: readonly { readonly entry: Entry; readonly lists: ListState }[],
): readonly Entry[] {
  const isPublic = (entry: Entry): boolean => specialPurposeObjection(entry, networkOf(entry)) === undefined;
  return clients.filter(({ lists, entry }) => lists.state === "NotListed" && isPublic(entry)).map(({ entry }) => entry);
}

function indexOf(spellings: readonly string[] | undefined): NetworkIndex | undefined {
  return spellings && new NetworkIndex(observeSpellings(spellings).keys());
}

/** The log of a WAF contains one client per row; blocking a network would block everyone in it. */
function isAddress(entry: Entry): boolean {
  const { family, prefixLength } = networkOf(entry);
  return prefixLength === (family === "ipv4" ? 32 : 128);
}
