// The guards on single entries: entries that no rule may put on a list.
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

/** The maximum number of networks of a carved entry: each is one call of the API. */
const piecesMax = 256;

export interface EntryGuards {
  readonly declared: Guards;
  /** Networks that no Block entry may overlap. */
  readonly neverBlock: NetworkIndex;
  /** Items of `guards.neverBlock` that are no addresses: a guard that can't be read must be seen, not skipped. */
  readonly faults: readonly string[];
}

/**
 * The guards of an instance. The addresses of declared origins count as listed in `neverBlock`: a WAF that blocks its own
 * origin serves nobody.
 */
export function compileGuards(instance: DeclaredInstance, origins: readonly DeclaredOrigin[]): EntryGuards {
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

/** Applies the guards to all entries of one rule, each with its source. */
export function guardEntries(
  guards: EntryGuards,
  list: ListName,
  declared: ReadonlyMap<Entry, string>,
  { fromFeeds = new Set(), grant }: EntryOrigins = {},
): GuardedEntries {
  const entries = new Set<Entry>();
  const rejected: RejectedEntry[] = [];
  const carved: CarvedEntry[] = [];
  for (const [entry, source] of declared) {
    if (fromFeeds.has(source) && isNoiseOfFeed(guards, list, entry)) continue;
    const wide = grant === undefined ? undefined : tooWide(entry, grant);
    const finding = wide === undefined ? guardEntry(guards, list, entry) : rejectedFor(wide);
    if (finding.kind === "Rejected") {
      rejected.push({ entry, source, message: finding.message });
      continue;
    }
    entries.add(entry);
    if (finding.kind === "Carved") carved.push({ entry, source, leftOut: finding.leftOut, pieces: finding.pieces });
  }
  return { entries, rejected, carved };
}

/**
 * Threat lists often contain private and reserved networks, and the user of a list can't correct it: the status of the feed
 * counts them, and rules do not report them. Rules do report entries that are also too wide, unless no part of them is public.
 */
function isNoiseOfFeed({ declared }: EntryGuards, list: ListName, entry: Entry): boolean {
  const head = headOf(entry);
  if (purposeObjection(declared, entry, head) === undefined) return false;
  return widthObjection(declared, list, entry, head) === undefined || isSpecialPurposeOnly(entry);
}

type Finding =
  | { readonly kind: "Accepted" }
  | { readonly kind: "Rejected"; readonly message: string }
  | { readonly kind: "Carved"; readonly leftOut: readonly Entry[]; readonly pieces: readonly Entry[] };

const accepted: Finding = { kind: "Accepted" };

function rejectedFor(message: string): Finding {
  return { kind: "Rejected", message };
}

function guardEntry({ declared, neverBlock }: EntryGuards, list: ListName, entry: Entry): Finding {
  const head = headOf(entry);
  const objection = widthObjection(declared, list, entry, head) ?? purposeObjection(declared, entry, head);
  if (objection !== undefined) return rejectedFor(objection);
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
  return `${entry} is wider than /${shortest}, the limit in spec.guards.${field}.${family} of the instance: write narrower networks.`;
}

function purposeObjection(guards: Guards, entry: Entry, head: EntryHead): string | undefined {
  return guards.specialPurpose === "Allow" ? undefined : specialPurposeObjection(entry, head);
}

/** Protects networks that must stay reachable: such an entry is rejected, or carved if it is wider. */
function guardReachable(guards: Guards, neverBlock: NetworkIndex, entry: Entry): Finding {
  const kept = neverBlock.overlaps(entry);
  if (kept === undefined) return accepted;
  const objection = `${entry} overlaps ${kept}, which must stay reachable (spec.guards.neverBlock of the instance, or a declared origin)`;
  const remove = `${objection}: remove it from the rule.`;
  if (neverBlock.containing(entry) !== undefined) return rejectedFor(remove);
  if (guards.onNeverBlock === "Reject") {
    return rejectedFor(
      `${objection}: write narrower networks that leave it out, or set spec.guards.onNeverBlock of the instance to Carve.`,
    );
  }
  const leftOut = neverBlock.inside(entry);
  const pieces = carve(entry, leftOut, piecesMax);
  if (pieces === undefined) {
    return rejectedFor(
      `${objection}. Without the ${leftOut.length} protected networks in it, it would become more than ${piecesMax} networks: write narrower networks that leave them out.`,
    );
  }
  return pieces.length === 0 ? rejectedFor(remove) : { kind: "Carved", leftOut, pieces };
}
