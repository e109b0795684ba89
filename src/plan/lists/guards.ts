// The guards on single entries: they reject entries that no rule may put on a list.
import { carve } from "../../model/carve.ts";
import type { DeclaredOrigin, DeclaredInstance, Grant, Guards, ListName } from "../../model/declared.ts";
import type { Entry } from "../../model/entry.ts";
import { parseDeclaredEntry } from "../../model/entry.ts";
import type { EntryHead } from "../../model/entry-head.ts";
import { headOf } from "../../model/entry-head.ts";
import { NetworkIndex } from "../../model/entry-set.ts";
import { asSentence } from "../../model/sentence.ts";
import { tooWide } from "./guest-limits.ts";
import type { CarvedEntry } from "./compiled-rule.ts";
import type { RejectedEntry } from "./rule-entries.ts";
import { isSpecialPurposeOnly, specialPurposeObjection } from "./special-purpose.ts";

/** The maximum number of networks of a carved entry: each takes one API call. */
const piecesMax = 256;

export interface EntryGuards {
  readonly declared: Guards;
  /** Networks that no Block entry may overlap. */
  readonly neverBlock: NetworkIndex;
  /** Invalid items of `guards.neverBlock`: an unreadable guard must be reported, not skipped. */
  readonly faults: readonly string[];
}

/**
 * The guards of an instance. The addresses of declared origins count as listed in `neverBlock`: a WAF that blocks its own
 * origin serves no requests.
 */
export function compileGuards(instance: DeclaredInstance, origins: readonly DeclaredOrigin[]): EntryGuards {
  const hosts = origins.map(({ host }) => host).join("\n");
  const known = compiled.get(instance.guards);
  if (known?.hosts === hosts) return known.guards;
  const guards = compileAnew(instance, origins);
  compiled.set(instance.guards, { hosts, guards });
  return guards;
}

// The same object while nothing changes, because the results of guards are cached by it. A new status of the instance creates
// another object with the same guards.
const compiled = new WeakMap<Guards, { readonly hosts: string; readonly guards: EntryGuards }>();

function compileAnew(instance: DeclaredInstance, origins: readonly DeclaredOrigin[]): EntryGuards {
  const networks: Entry[] = [];
  const faults: string[] = [];
  for (const [index, text] of instance.guards.neverBlock.entries()) {
    const parsed = parseDeclaredEntry(text);
    if (parsed.ok) networks.push(parsed.entry);
    else faults.push(asSentence(`spec.guards.neverBlock[${index}]: ${parsed.fault.message}`));
  }
  for (const origin of origins) {
    const parsed = parseDeclaredEntry(origin.host);
    if (parsed.ok) networks.push(parsed.entry);
  }
  return { declared: instance.guards, neverBlock: new NetworkIndex(networks), faults };
}

export interface GuardedEntries {
  /** As declared, including carved ones. */
  readonly entries: ReadonlySet<Entry>;
  readonly rejected: readonly RejectedEntry[];
  readonly carved: readonly CarvedEntry[];
}

/** The external sources of a rule, and the grant of a guest's rule. */
export interface EntryOrigins {
  readonly fromFeeds?: ReadonlySet<string>;
  readonly grant?: Grant | undefined;
}

interface Answered {
  readonly guards: EntryGuards;
  readonly list: ListName;
  readonly grant: Grant | undefined;
  /** The sources that are feeds. */
  readonly feeds: string;
  readonly answer: GuardedEntries;
}

/** The last result for each declared entry, so that a change of one rule does not check the entries of the others. */
const answered = new WeakMap<ReadonlyMap<Entry, string>, Answered>();

/** Applies the guards to all entries of one rule, each with its source. */
export function guardEntries(
  guards: EntryGuards,
  list: ListName,
  declared: ReadonlyMap<Entry, string>,
  origins: EntryOrigins = {},
): GuardedEntries {
  const { fromFeeds = [], grant } = origins;
  const feeds = [...fromFeeds].join("\n");
  const known = answered.get(declared);
  const isSame = known?.guards === guards && known.list === list && known.grant === grant && known.feeds === feeds;
  if (isSame) return known.answer;
  const answer = guardAnew(guards, list, declared, origins);
  answered.set(declared, { guards, list, grant, feeds, answer });
  return answer;
}

function guardAnew(
  guards: EntryGuards,
  list: ListName,
  declared: ReadonlyMap<Entry, string>,
  { fromFeeds = new Set(), grant }: EntryOrigins,
): GuardedEntries {
  const entries = new Set<Entry>();
  const rejected: RejectedEntry[] = [];
  const carved: CarvedEntry[] = [];
  for (const entry of declared.keys()) {
    const wide = grant === undefined ? undefined : tooWide(entry, grant);
    const finding = wide === undefined ? guardEntry(guards, list, entry) : rejectedFor(wide, narrower);
    if (finding.kind !== "Rejected") entries.add(entry);
    if (finding.kind === "Accepted") continue;
    const source = declared.get(entry) ?? "";
    if (finding.kind === "Carved") {
      carved.push({ entry, source, leftOut: finding.leftOut, pieces: finding.pieces });
      continue;
    }
    const { objection, remedy } = finding;
    if (!fromFeeds.has(source)) {
      rejected.push({ entry, source, message: remedy === undefined ? objection : `${objection}: ${remedy}.` });
    } else if (!isNoiseOfFeed(guards, list, entry)) {
      // A user of the feed can't follow the advice.
      rejected.push({ entry, source, message: asSentence(objection), isOfFeed: true });
    }
  }
  return { entries, rejected, carved };
}

/**
 * Threat lists often contain private and reserved networks. The feed's status counts them, and no rule reports them. An entry that
 * is also too wide is reported, unless it contains no public address.
 */
function isNoiseOfFeed({ declared }: EntryGuards, list: ListName, entry: Entry): boolean {
  const head = headOf(entry);
  if (purposeObjection(declared, entry, head) === undefined) return false;
  return widthObjection(declared, list, entry, head) === undefined || isSpecialPurposeOnly(entry);
}

type Finding =
  | { readonly kind: "Accepted" }
  /** Objection and remedy together form a sentence; without a remedy, the objection contains it. */
  | { readonly kind: "Rejected"; readonly objection: string; readonly remedy?: string }
  | { readonly kind: "Carved"; readonly leftOut: readonly Entry[]; readonly pieces: readonly Entry[] };

const accepted: Finding = { kind: "Accepted" };

const narrower = "write narrower networks";

function rejectedFor(objection: string, remedy?: string): Finding {
  return { kind: "Rejected", objection, ...(remedy !== undefined && { remedy }) };
}

function guardEntry({ declared, neverBlock }: EntryGuards, list: ListName, entry: Entry): Finding {
  const head = headOf(entry);
  const width = widthObjection(declared, list, entry, head);
  if (width !== undefined) return rejectedFor(width, narrower);
  const purpose = purposeObjection(declared, entry, head);
  if (purpose !== undefined) return rejectedFor(purpose);
  if (list === "allowlist" || !neverBlock.mayOverlap(head)) return accepted;
  return guardReachable(declared, neverBlock, entry);
}

function widthObjection(
  guards: Guards,
  list: ListName,
  entry: Entry,
  { family, prefixLength }: EntryHead,
): string | undefined {
  const field = list === "blocklist" ? "minPrefixLength" : "allowMinPrefixLength";
  const shortest = guards[field][family];
  if (prefixLength >= shortest) return undefined;
  return `${entry} is wider than /${shortest}, the limit in spec.guards.${field}.${family} of the instance`;
}

function purposeObjection(guards: Guards, entry: Entry, head: EntryHead): string | undefined {
  return guards.specialPurpose === "Allow" ? undefined : specialPurposeObjection(entry, head);
}

/** Protects networks that must stay reachable: an entry that overlaps one is rejected, or carved if it is wider. */
function guardReachable(guards: Guards, neverBlock: NetworkIndex, entry: Entry): Finding {
  const kept = neverBlock.overlaps(entry);
  if (kept === undefined) return accepted;
  const objection = `${entry} overlaps ${kept}, which must stay reachable (spec.guards.neverBlock of the instance, or a declared origin)`;
  const remove = "remove it from the rule";
  if (neverBlock.containing(entry) !== undefined) return rejectedFor(objection, remove);
  if (guards.onNeverBlock === "Reject") {
    const remedy =
      "write narrower networks that leave it out, or set spec.guards.onNeverBlock of the instance to Carve";
    return rejectedFor(objection, remedy);
  }
  const leftOut = neverBlock.inside(entry);
  const pieces = carve(entry, leftOut, piecesMax);
  if (pieces === undefined) {
    return rejectedFor(
      `${objection}. Without the ${leftOut.length} protected networks in it, it would become more than ${piecesMax} networks`,
      "write narrower networks that leave them out",
    );
  }
  return pieces.length === 0 ? rejectedFor(objection, remove) : { kind: "Carved", leftOut, pieces };
}
