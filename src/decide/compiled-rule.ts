// What one rule declares: its entries, parsed in canonical form, and the rule as it is compiled from them. Nothing here depends on other rules.
import { type Entry, parseDeclaredEntry } from "../address/entry.ts";
import { describeIndex, describeLine, describeSource } from "../model/address-source.ts";
import type { DeclaredRule, DeclaredOrigin, ListName, PrefixLengths } from "../model/declared.ts";
import type { AddressText, GatheredRule } from "../model/gathered.ts";
import { ruleIdOf } from "../model/rule-id.ts";
import { noteText, asSentence } from "../model/texts.ts";
import type { Latest } from "./latest.ts";

/** Parsing them takes a millisecond or two. */
const sliceLines = 500;
/** V8 keeps the complete text alive for each substring of at least this length. */
const sharedLengthMin = 13;

export interface RejectedEntry {
  /** As written by the user. */
  readonly entry: string;
  readonly source: string;
  readonly message: string;
  /** A feed lists it: a user of the feed can't correct it, so it is no fault of the rule. */
  readonly isOfFeed?: true;
}

/** The entries of one source of a rule: `spec.addresses`, the text of one ConfigMap, or a feed. */
export interface RulePart {
  /** Undefined for `spec.addresses`. */
  readonly source: string | undefined;
  /** Each with the index in `spec.addresses`, or the line, where it was first written. */
  readonly entries: ReadonlyMap<Entry, number>;
  /** The position of all entries, if it is the same. */
  readonly place?: string;
  readonly isOfFeed?: true;
  /** The entries of a feed that expire by themselves. */
  readonly ending?: ReadonlyMap<Entry, number>;
  /** The earliest of these ends. */
  readonly firstEndMs?: number | undefined;
  /** What the source says about entries, for people: the comment behind one, or why the log lists it. Absent without any. */
  readonly notes?: ReadonlyMap<Entry, string>;
}

/** The position of an entry, for people; undefined if the part does not contain it. */
export function placeIn({ source, entries, place }: RulePart, entry: Entry): string | undefined {
  const number = entries.get(entry);
  if (number === undefined || place !== undefined) return number === undefined ? undefined : place;
  return placeOfLine(source, number);
}

function placeOfLine(source: string | undefined, number: number): string {
  return source === undefined ? describeIndex(number) : describeLine(source, number);
}

export interface RuleEntries {
  /** The sources with entries. */
  readonly parts: readonly RulePart[];
  readonly invalid: readonly RejectedEntry[];
  /** Sources that could not be read. */
  readonly missing: readonly { readonly source: string; readonly problem: string }[];
}

type OwnAddresses = Pick<DeclaredRule, "addresses" | "notes">;
type Content = OwnAddresses | Exclude<AddressText, { state: "Missing" }>;
type ParsedSource = Pick<RuleEntries, "invalid"> & { readonly part: RulePart };
/** The parsed sources of rules, so that only those are parsed whose content has changed. */
export type ParsedSources = Latest<ParsedSource>;

/** The rule's own addresses and those of its sources, without those that have ended by `nowMs`. */
export function* readInSlices(
  { rule, texts }: GatheredRule,
  nowMs: number,
  known: ParsedSources,
): Generator<undefined, RuleEntries> {
  const id = ruleIdOf(rule.meta);
  const parsed = [yield* parseOnce(known, id, [rule.addresses, rule.notes], rule)];
  const missing: { source: string; problem: string }[] = [];
  for (const text of texts) {
    const source = describeSource(text.source);
    const key = `${id} ${source}`;
    if (text.state === "Missing") missing.push({ source, problem: text.problem });
    else if (text.state === "Read") parsed.push(yield* parseOnce(known, key, [text.text], text));
    else parsed.push(yield* parseOnce(known, key, [text.entries, text.ending, text.notes], text));
  }
  const parts = parsed.map(({ part }) => withoutEnded(part, nowMs)).filter(({ entries }) => entries.size > 0);
  return { parts, invalid: parsed.flatMap(({ invalid }) => invalid), missing };
}

function* parseOnce(
  known: ParsedSources,
  key: string,
  inputs: readonly unknown[],
  content: Content,
): Generator<undefined, ParsedSource> {
  return known.find(key, inputs) ?? known.keep(key, inputs, yield* parse(content));
}

function* parse(content: Content): Generator<undefined, ParsedSource> {
  if (!("state" in content)) {
    const { addresses, notes } = content;
    const lines = addresses.map((text, number) => ({ text, number, note: notes?.[number] ?? "" }));
    return yield* parseLines(lines, undefined);
  }
  const source = describeSource(content.source);
  if (content.state === "Read") {
    const parsed = yield* parseLines(readAddressLines(content.text), source);
    if (content.source.kind !== "Secret") return parsed;
    const { notes: _, ...unnoted } = parsed.part;
    return { part: unnoted, invalid: parsed.invalid.map(hidden) };
  }
  const { ending, notes } = content;
  const entries = new Map(content.entries.map((entry) => [entry, 0]));
  const ends = ending && { ending, firstEndMs: firstEndIn(ending, 0) };
  const part = { source, entries, place: source, isOfFeed: true, ...ends, ...(notes && { notes }) } as const;
  return { part, invalid: [] };
}

function* parseLines(lines: Iterable<AddressLine>, source: string | undefined): Generator<undefined, ParsedSource> {
  const entries = new Map<Entry, number>();
  const notes = new Map<Entry, string>();
  const invalid: RejectedEntry[] = [];
  let count = 0;
  for (const { text, number, note } of lines) {
    const parsed = parseDeclaredEntry(text);
    if (!parsed.ok) invalid.push({ entry: text, source: placeOfLine(source, number), message: parsed.message });
    else if (!entries.has(parsed.entry)) {
      const entry = source === undefined ? parsed.entry : detached(parsed.entry);
      entries.set(entry, number);
      if (note !== "") notes.set(entry, note);
    }
    count += 1;
    if (count % sliceLines === 0) yield undefined;
  }
  return { part: { source, entries, ...(notes.size > 0 && { notes }) }, invalid };
}

/** A line of a Secret that is no address can be anything, and the author of the rule may not be allowed to read the Secret. */
function hidden({ source }: RejectedEntry): RejectedEntry {
  return {
    entry: "(not shown)",
    source,
    message: "the line is not an address or network; lines of Secrets are not shown",
  };
}

/** A copy that does not keep the complete text alive. */
function detached(entry: Entry): Entry {
  return entry.length < sharedLengthMin ? entry : (` ${entry}`.slice(1) as Entry);
}

function withoutEnded(part: RulePart, nowMs: number): RulePart {
  const { entries, ending, firstEndMs } = part;
  if (ending === undefined || firstEndMs === undefined || firstEndMs > nowMs) return part;
  const isLeft = (entry: Entry): boolean => (ending.get(entry) ?? Number.POSITIVE_INFINITY) > nowMs;
  const left = new Map([...entries].filter(([entry]) => isLeft(entry)));
  return { ...part, entries: left, firstEndMs: firstEndIn(ending, nowMs) };
}

/** The first end after this time; undefined if there is none. */
function firstEndIn(ending: ReadonlyMap<Entry, number>, nowMs: number): number | undefined {
  let first: number | undefined;
  for (const endMs of ending.values()) if (endMs > nowMs && (first === undefined || endMs < first)) first = endMs;
  return first;
}

export interface AddressLine {
  readonly text: string;
  /** The position in its text or list, starting at 1. */
  readonly number: number;
  /** Its comment, for people; empty if there is none. */
  readonly note: string;
}

/** The entries of a text, one per line, in order, each with its line number and its comment (`#`). Other lines are ignored. */
export function* readAddressLines(text: string): Generator<AddressLine, void> {
  let number = 0;
  for (const line of text.split("\n")) {
    number += 1;
    const comment = line.indexOf("#");
    const entry = (comment === -1 ? line : line.slice(0, comment)).trim();
    if (entry !== "") yield { text: entry, number, note: comment === -1 ? "" : noteText(line.slice(comment + 1)) };
  }
}

// The result of compiling one declared rule or origin.

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
