// The result of compiling one declared rule or origin.
import type { DeclaredOrigin, DeclaredRule, ListName, PrefixLengths } from "../model/declared.ts";
import type { Entry } from "../address/entry.ts";
import type { GatheredRule } from "../model/gathered.ts";
import { describeSource } from "../model/address-source.ts";
import { placeIn, type RejectedEntry, type RulePart } from "./rule-entries.ts";
import { asSentence } from "../model/sentence.ts";

export type RuleVerdict =
  | "Accepted"
  /** Its namespace is not a guest of the instance, or is one without this grant. */
  | "NotAllowed"
  | "SourceMissing"
  /** Some entries are rejected, or there are none. */
  | "InvalidEntries"
  | "Conflict";

/** Something that can't be read, or that is not attached by mistake. */
export interface Broken {
  /** The problem, and how to correct it. */
  readonly reason: string;
  /** How to let the remembered entries go, as the rest of a sentence; undefined if only the correction does. */
  readonly letGo: string | undefined;
}

export interface CompiledRule {
  readonly rule: DeclaredRule;
  /** The result of `ruleIdOf`. */
  readonly id: string;
  readonly list: ListName;
  /** Whether it is in the instance's own namespace, whose objects take precedence over those of guests. */
  readonly isOwners: boolean;
  /** False if the rule is ignored because its kind or action is not granted to its namespace. */
  readonly isAttached: boolean;
  /** The first fault, or `Accepted`. Valid entries of an attached rule apply whatever the verdict. */
  readonly verdict: RuleVerdict;
  /** The fault, for users; empty for `Accepted`. */
  readonly message: string;
  /** Its entries for the list: as written, without `except`, then aggregated. Empty after it has expired. */
  readonly entries: ReadonlySet<Entry>;
  /** The same before they were aggregated. */
  readonly written?: ReadonlySet<Entry>;
  /** The entry as written, by each of the networks that are left of it after `except`. */
  readonly cutFrom: ReadonlyMap<Entry, Entry>;
  /** The shortest prefix lengths of merged networks; undefined without `aggregate`. */
  readonly widest: PrefixLengths | undefined;
  /** How many entries each merged network covers. */
  readonly lines: ReadonlyMap<Entry, number>;
  /** The sources of its entries, including rejected ones: finds the owners of an entry without searching the sources. */
  readonly parts: readonly RulePart[];
  /** Rejected entries of feeds do not change the verdict. */
  readonly rejected: readonly RejectedEntry[];
  readonly expiresAtMs: number | undefined;
  readonly expired: boolean;
  /** The entries that only the record says it declares, each with what can't be read. */
  readonly remembered: ReadonlyMap<Entry, Broken>;
  /** It stands in for an object that can't be read, or that is not attached by mistake. */
  readonly isStandIn?: true;
  /** The entries of a rule that only suggests them. */
  readonly suggested?: ReadonlySet<Entry>;
}

export interface CompiledOrigin {
  readonly origin: DeclaredOrigin;
  /** False if the rule is ignored. */
  readonly isAttached: boolean;
  readonly verdict: "Accepted" | "NotAllowed" | "Conflict";
  readonly message: string;
}

/** Whether the entries on the list are not those that the rule declares, but derived from them. */
export function isDerived({ rule }: Pick<CompiledRule, "rule">): boolean {
  return rule.aggregate || rule.except.length > 0;
}

/** The entries that the rule lists, in any of its sources. */
export function listedBy({ parts }: Pick<CompiledRule, "parts">): ReadonlySet<Entry> {
  return new Set(parts.flatMap(({ entries }) => [...entries.keys()]));
}

/** The rejected entries that a user can correct. Rejected entries of a feed are no fault of the rule. */
export function faultsIn(rejected: readonly RejectedEntry[]): readonly RejectedEntry[] {
  return rejected.filter(({ isOfFeed }) => isOfFeed !== true);
}

/** The position at which a rule first declares the entry; empty if it does not. */
export function placeOf({ parts, cutFrom }: Pick<CompiledRule, "parts" | "cutFrom">, entry: Entry): string {
  for (const part of parts) {
    const place = placeIn(part, cutFrom.get(entry) ?? entry);
    if (place !== undefined) return place;
  }
  return "";
}

/** What a source of the rule says about the entry, for people; undefined if the rule simply names it. */
export function noteOf({ parts, cutFrom }: Pick<CompiledRule, "parts" | "cutFrom">, entry: Entry): string | undefined {
  const written = cutFrom.get(entry) ?? entry;
  return parts.find(({ notes }) => notes?.has(written))?.notes?.get(written);
}

/** When the entry ends by itself, without the others of the rule. */
export function endOf({ parts }: Pick<CompiledRule, "parts">, entry: Entry): number | undefined {
  return parts.find(({ entries }) => entries.has(entry))?.ending?.get(entry);
}

/** One sentence about rejected entries: their number and the first of them. */
export function describeRejected(rejected: readonly RejectedEntry[]): string {
  const first = rejected[0];
  if (first === undefined) return "";
  const count = rejected.length === 1 ? "1 entry is" : `${rejected.length} entries are`;
  return `${count} not applied. ${first.source}: ${asSentence(first.message)}`;
}

/** The message for a rule without entries. */
export function describeEmpty({ texts }: GatheredRule): string {
  const first = texts[0];
  if (first === undefined) {
    return "The rule declares no entries: write addresses or networks into spec.addresses, name ConfigMaps in spec.addressesFrom, or delete the rule.";
  }
  const more = texts.length === 1 ? "" : ` and ${texts.length - 1} more of spec.addressesFrom`;
  const are = texts.length === 1 ? "is" : "are";
  return `The rule declares no entries, because ${describeSource(first.source)}${more} ${are} empty: write one address or network per line, or delete the rule.`;
}

/** The expiry of a rule: the earlier of `expiresAt` and creation plus `ttl`; undefined if it never expires. */
export function expiryOf(rule: DeclaredRule): number | undefined {
  const byTtl =
    rule.ttlMs === undefined || rule.meta.createdAtMs === undefined ? undefined : rule.meta.createdAtMs + rule.ttlMs;
  if (rule.expiresAtMs === undefined) return byTtl;
  return byTtl === undefined ? rule.expiresAtMs : Math.min(rule.expiresAtMs, byTtl);
}
