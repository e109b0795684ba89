// The guards on single entries: they reject entries that no rule may put on a list.
import { NetworkIndex, without } from "../address/ranges.ts";
import type { DeclaredInstance, Grant, Guards, ListName } from "../model/declared.ts";
import { type Entry, networkOf, parseDeclaredEntry, readObservedEntry } from "../address/entry.ts";
import type { Network } from "../address/network.ts";
import { asSentence, listed } from "../model/texts.ts";
import { type CompiledOrigin, placeIn, type RejectedEntry, type RulePart } from "./compiled-rule.ts";
import { isOwnersOf, tooWide } from "./guest-limits.ts";
import { isSpecialPurposeOnly, specialPurposeObjection } from "./special-purpose.ts";

/** The maximum number of networks that may be left of an entry after `spec.except`: each takes one API call. */
const piecesMax = 256;

/** The number of protected networks that a message names. */
const keptShownMax = 5;

export interface EntryGuards {
  readonly declared: Guards;
  /** Networks that no Block entry may overlap. */
  readonly neverBlock: NetworkIndex;
  /** Invalid items of `guards.neverBlock`: an unreadable guard must be reported, not skipped. */
  readonly faults: readonly string[];
  /** Equal for guards that decide alike. */
  readonly key: string;
}

/**
 * The guards of an instance. The addresses of its owner's origins count as listed in `neverBlock`: a WAF that blocks its own origin
 * serves no requests. Those of guests do not: otherwise a guest's origin could remove a block.
 */
export function compileGuards(instance: DeclaredInstance, origins: readonly CompiledOrigin[]): EntryGuards {
  const { guards } = instance;
  const networks: Entry[] = [];
  const faults: string[] = [];
  for (const [index, text] of guards.neverBlock.entries()) {
    const parsed = parseDeclaredEntry(text);
    if (parsed.ok) networks.push(parsed.entry);
    else faults.push(asSentence(`spec.guards.neverBlock[${index}]: ${parsed.message}`));
  }
  const hosts = origins
    .filter(({ origin, verdict }) => verdict === "Accepted" && isOwnersOf(instance, origin))
    .map(({ origin }) => origin.host);
  for (const host of hosts) {
    const parsed = parseDeclaredEntry(host);
    if (parsed.ok) networks.push(parsed.entry);
  }
  return { declared: guards, neverBlock: new NetworkIndex(networks), faults, key: JSON.stringify([guards, hosts]) };
}

export interface GuardedEntries {
  readonly entries: ReadonlySet<Entry>;
  readonly rejected: readonly RejectedEntry[];
  /** As in `CompiledRule`. */
  readonly cutFrom: ReadonlyMap<Entry, Entry>;
}

/** The networks that a rule leaves out, and the grant of a guest's rule. */
export interface RuleTerms {
  readonly except?: readonly string[];
  readonly grant?: Grant | undefined;
  /** Networks that were merged from narrower entries, whose width was judged: see `recall`. */
  readonly merged?: ReadonlyMap<Entry, number>;
}

/** Takes `spec.except` out of all entries of one rule, and applies the guards to what is left. */
export function guardEntries(
  guards: EntryGuards,
  list: ListName,
  parts: readonly RulePart[],
  { except = [], grant, merged }: RuleTerms = {},
): GuardedEntries {
  const entries = new Set<Entry>();
  const rejected: RejectedEntry[] = [];
  const cutFrom = new Map<Entry, Entry>();
  const reject = (part: RulePart, entry: Entry, { objection, remedy }: Objection, written = entry): void => {
    const source = placeIn(part, written) ?? "";
    if (part.isOfFeed !== true) {
      const note = part.notes?.get(written);
      const said = note === undefined ? "" : ` Its comment: ${note}`;
      rejected.push({
        entry,
        source,
        message: `${remedy === undefined ? objection : `${objection}: ${remedy}.`}${said}`,
      });
    } else if (!isNoiseOfFeed(guards, list, entry)) {
      // A user of the feed can't follow the advice.
      rejected.push({ entry, source, message: asSentence(objection), isOfFeed: true });
    }
  };
  const check = (part: RulePart, entry: Entry, written = entry): void => {
    const isMerged = merged?.has(written) === true;
    const wide = isMerged ? undefined : tooWide(entry, grant);
    const objection =
      wide === undefined ? objectionTo(guards, list, entry, isMerged) : { objection: wide, remedy: narrower };
    if (objection !== undefined) reject(part, entry, objection, written);
    else entries.add(entry);
    if (entry !== written) cutFrom.set(entry, written);
  };
  const excepted = new NetworkIndex(except.map(readObservedEntry));
  const judge = (part: RulePart, entry: Entry): void => {
    if (except.length === 0 || excepted.overlaps(entry) === undefined) return check(part, entry);
    if (excepted.containing(entry) !== undefined) return;
    const pieces = without(entry, excepted.inside(entry), piecesMax);
    if (pieces === undefined) reject(part, entry, tooManyPieces(entry));
    else for (const piece of pieces) check(part, piece, entry);
  };
  for (const [index, part] of parts.entries()) {
    const earlier = parts.slice(0, index);
    for (const entry of part.entries.keys()) if (!earlier.some((one) => one.entries.has(entry))) judge(part, entry);
  }
  return { entries, rejected, cutFrom };
}

function tooManyPieces(entry: Entry): Objection {
  const objection = `${entry} would become more than ${piecesMax} networks without the networks in spec.except`;
  return { objection, remedy: narrower };
}

/**
 * Threat lists often contain private and reserved networks. The feed's status counts them, and no rule reports them. An entry that
 * is also too wide is reported, unless it contains no public address.
 */
function isNoiseOfFeed({ declared }: EntryGuards, list: ListName, entry: Entry): boolean {
  const network = networkOf(entry);
  if (purposeObjection(declared, entry, network) === undefined) return false;
  return widthObjection(declared, list, entry, network) === undefined || isSpecialPurposeOnly(entry);
}

/** Objection and remedy together form a sentence; without a remedy, the objection contains it. */
interface Objection {
  readonly objection: string;
  readonly remedy?: string;
}

const narrower = "write narrower networks";

function objectionTo(
  { declared, neverBlock }: EntryGuards,
  list: ListName,
  entry: Entry,
  isMerged: boolean,
): Objection | undefined {
  const network = networkOf(entry);
  const width = isMerged ? undefined : widthObjection(declared, list, entry, network);
  if (width !== undefined) return { objection: width, remedy: narrower };
  const purpose = purposeObjection(declared, entry, network);
  if (purpose !== undefined) return { objection: purpose };
  const kept = list === "allowlist" ? undefined : neverBlock.overlaps(network);
  return kept === undefined ? undefined : reachableObjection(neverBlock, entry, kept);
}

function widthObjection(
  guards: Guards,
  list: ListName,
  entry: Entry,
  { family, prefixLength }: Network,
): string | undefined {
  const field = list === "blocklist" ? "minPrefixLength" : "allowMinPrefixLength";
  const shortest = guards[field][family];
  if (prefixLength >= shortest) return undefined;
  return `${entry} is wider than /${shortest}, the limit in spec.guards.${field}.${family} of the instance`;
}

function purposeObjection(guards: Guards, entry: Entry, network: Network): string | undefined {
  return guards.specialPurpose === "Allow" ? undefined : specialPurposeObjection(entry, network);
}

/** Networks that must stay reachable: an entry that contains one needs `except`, and one inside it can't be blocked at all. */
function reachableObjection(neverBlock: NetworkIndex, entry: Entry, kept: Entry): Objection {
  const objection = `${entry} overlaps ${kept}, which must stay reachable (spec.guards.neverBlock of the instance, or a declared origin)`;
  if (neverBlock.containing(entry) !== undefined) return { objection, remedy: "remove it from the rule" };
  const inside = listed(neverBlock.inside(entry), keptShownMax);
  return { objection: `${objection}: add ${inside} to spec.except of the rule.` };
}
