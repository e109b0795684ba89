// The entries of one rule: parsed, in canonical form. Nothing here depends on other rules.
import { type Entry, parseDeclaredEntry } from "../address/entry.ts";
import { describeIndex, describeLine, describeSource } from "../model/address-source.ts";
import type { DeclaredRule } from "../model/declared.ts";
import type { AddressText, GatheredRule } from "../model/gathered.ts";
import { ruleIdOf } from "../model/rule-id.ts";
import { noteText } from "../model/visible-text.ts";
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
