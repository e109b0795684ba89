// The entries of one rule: parsed, in canonical form, without duplicates. Nothing here depends on other rules. A parsed text is
// not parsed again, and a new version of a text requires parsing only its new lines.
import type { Entry } from "../address/entry.ts";
import { parseDeclaredEntry } from "../address/entry.ts";
import { describeIndex, describeLine } from "../model/address-source.ts";
import { finished } from "../model/finished.ts";
import type { AddressText, GatheredRule } from "../model/gathered.ts";
import { nameKey } from "../model/resource.ts";
import { type AddressLine, readAddressLines } from "./address-lines.ts";

/** Parsing them takes a millisecond or two. */
const sliceLines = 500;
/** The number of sources whose latest entries are cached to speed up parsing their next version; then all are dropped. */
const latestMax = 10_000;
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
  /** Each with the position where it was first written. */
  readonly entries: ReadonlyMap<Entry, string>;
  readonly isOfFeed?: true;
  /** The entries of a feed that expire by themselves. */
  readonly ending?: ReadonlyMap<Entry, number>;
  /** The earliest of these ends. */
  readonly firstEndMs?: number | undefined;
  /** Why the source lists each entry, for people. */
  readonly evidence?: ReadonlyMap<Entry, string>;
}

export interface RuleEntries {
  /** Each with the position where it was first written. */
  readonly entries: ReadonlyMap<Entry, string>;
  /** The sources with entries. */
  readonly parts: readonly RulePart[];
  readonly invalid: readonly RejectedEntry[];
  /** Sources that could not be read. */
  readonly missing: readonly MissingText[];
}

type MissingText = Extract<AddressText, { state: "Missing" }>;

interface ParsedAddresses extends RulePart {
  readonly invalid: readonly RejectedEntry[];
  /** The entries of strings in other than canonical form. */
  readonly spellings: ReadonlyMap<string, Entry>;
}

// Sources return the same object while their content is unchanged, so a change of one rule does not require parsing all others.
const parsedInline = new WeakMap<readonly string[], ParsedAddresses>();
const parsedTexts = new WeakMap<AddressText, ParsedAddresses>();
/** The last parsed content of each source, as long as it is still in use. */
const latest = new Map<string, WeakRef<ParsedAddresses>>();

/** Parses the rule's own addresses and those of its sources, without those that have ended by `nowMs`. Pure: the same input gives the same result. */
export function readRuleEntries({ rule, texts }: GatheredRule, nowMs = 0): RuleEntries {
  const parsed = [parsedInline.get(rule.addresses) ?? finished(parseInline(rule))];
  const missing: MissingText[] = [];
  for (const text of texts) {
    if (text.state === "Missing") missing.push(text);
    else parsed.push(parsedTexts.get(text) ?? finished(parseText(text)));
  }
  const parts = parsed.map((part) => withoutEnded(part, nowMs)).filter(({ entries }) => entries.size > 0);
  return { entries: mergeParts(parts), parts, invalid: parsed.flatMap(({ invalid }) => invalid), missing };
}

function withoutEnded<Part extends RulePart>(part: Part, nowMs: number): Part {
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

/**
 * Parses the rule and caches the result, so that a following `readRuleEntries` is fast. Yields regularly, so the
 * caller can run other work in between.
 */
export function* parseInSlices({ rule, texts }: GatheredRule): Generator<undefined> {
  if (!parsedInline.has(rule.addresses)) yield* parseInline(rule);
  for (const text of texts) {
    if (text.state !== "Read" || parsedTexts.has(text)) continue;
    yield* parseText(text);
    yield undefined;
  }
}

const merged = new WeakMap<RulePart, { readonly parts: readonly RulePart[]; readonly entries: RulePart["entries"] }>();

/** The same parts give the same map, because the results of guards are cached by it. */
function mergeParts(parts: readonly RulePart[]): RulePart["entries"] {
  const [first] = parts;
  if (first === undefined) return new Map();
  if (parts.length === 1) return first.entries;
  const known = merged.get(first);
  if (known?.parts.length === parts.length && known.parts.every((part, index) => part === parts[index])) {
    return known.entries;
  }
  const partOf = new Map<Entry, RulePart>();
  for (const part of parts) {
    for (const entry of part.entries.keys()) if (!partOf.has(entry)) partOf.set(entry, part);
  }
  const entries = new MappedMap(partOf, (part, entry) => part.entries.get(entry) ?? "");
  merged.set(first, { parts, entries });
  return entries;
}

function* parseInline({ meta, addresses }: GatheredRule["rule"]): Generator<undefined, ParsedAddresses> {
  const key = `WafIpRule ${nameKey(meta)}`;
  const lines = addresses.map((text, index) => ({ text, number: index }));
  const parsed = { source: undefined, ...(yield* parseLines(lines, describeIndex, latest.get(key)?.deref())) };
  parsedInline.set(addresses, parsed);
  remember(key, parsed);
  return parsed;
}

function* parseText(text: Exclude<AddressText, MissingText>): Generator<undefined, ParsedAddresses> {
  const { source } = text;
  if (text.state === "Listed") {
    const entries = new Map(text.entries.map((entry) => [entry, source]));
    const { ending, evidence } = text;
    const listed = {
      source,
      entries,
      isOfFeed: true,
      ...(ending && { ending, firstEndMs: firstEndIn(ending, 0) }),
      ...(evidence && { evidence }),
      invalid: [],
      spellings: noSpellings,
    } as const;
    parsedTexts.set(text, listed);
    return listed;
  }
  const describe = (line: number): string => describeLine(source, line);
  const lines = readAddressLines(text.text);
  const read = yield* parseLines(lines, describe, latest.get(source)?.deref(), detached);
  const parsed = { source, ...read, ...(text.isSecret === true && { invalid: read.invalid.map(hidden) }) };
  parsedTexts.set(text, parsed);
  remember(source, parsed);
  return parsed;
}

/** A line of a Secret that is no address can be anything. */
function hidden({ source }: RejectedEntry): RejectedEntry {
  return {
    entry: "(not shown)",
    source,
    message: "the line is not an address or network; lines of Secrets are not shown",
  };
}

const noSpellings: ReadonlyMap<string, Entry> = new Map();

function remember(key: string, parsed: ParsedAddresses): void {
  if (latest.size >= latestMax) latest.clear();
  latest.set(key, new WeakRef(parsed));
}

function* parseLines(
  lines: Iterable<AddressLine>,
  describe: (number: number) => string,
  before: ParsedAddresses | undefined,
  copyOf: (entry: Entry) => Entry = (entry) => entry,
): Generator<undefined, Pick<ParsedAddresses, "entries" | "invalid" | "spellings">> {
  const numbers = new Map<Entry, number>();
  const spellings = new Map<string, Entry>();
  const invalid: RejectedEntry[] = [];
  let count = 0;
  for (const { text, number } of lines) {
    const known = knownEntry(text, before);
    const parsed = known === undefined ? parseDeclaredEntry(text) : ({ ok: true, entry: known } as const);
    if (!parsed.ok) invalid.push({ entry: text, source: describe(number), message: parsed.fault.message });
    else {
      if (parsed.entry !== text) spellings.set(text, parsed.entry);
      if (!numbers.has(parsed.entry)) numbers.set(copyOf(parsed.entry), number);
    }
    count += 1;
    if (count % sliceLines === 0) yield undefined;
  }
  return { entries: new MappedMap(numbers, describe), invalid, spellings };
}

/** The entry of a string that needs no parsing. */
function knownEntry(text: string, before: ParsedAddresses | undefined): Entry | undefined {
  // IPv4 addresses are parsed faster than they are found.
  if (!text.includes(":")) return undefined;
  return before?.entries.has(text as Entry) === true ? (text as Entry) : before?.spellings.get(text);
}

/** A copy that does not keep the complete text alive. */
function detached(entry: Entry): Entry {
  return entry.length < sharedLengthMin ? entry : (` ${entry}`.slice(1) as Entry);
}

/**
 * A read-only map whose values are computed on demand: storing the positions of 100,000 entries in their sources would take more memory
 * and time than storing the entries, and hardly any position is ever read.
 */
class MappedMap<K, Stored, V> implements ReadonlyMap<K, V> {
  readonly #stored: ReadonlyMap<K, Stored>;
  readonly #valueOf: (stored: Stored, key: K) => V;

  /** @param valueOf must always return the same value */
  constructor(stored: ReadonlyMap<K, Stored>, valueOf: (stored: Stored, key: K) => V) {
    this.#stored = stored;
    this.#valueOf = valueOf;
  }

  get size(): number {
    return this.#stored.size;
  }

  has(key: K): boolean {
    return this.#stored.has(key);
  }

  get(key: K): V | undefined {
    const stored = this.#stored.get(key);
    return stored === undefined ? undefined : this.#valueOf(stored, key);
  }

  keys(): MapIterator<K> {
    return this.#stored.keys();
  }

  *values(): MapIterator<V> {
    for (const [key, stored] of this.#stored) yield this.#valueOf(stored, key);
  }

  *entries(): MapIterator<[K, V]> {
    for (const [key, stored] of this.#stored) yield [key, this.#valueOf(stored, key)];
  }

  [Symbol.iterator](): MapIterator<[K, V]> {
    return this.entries();
  }

  forEach(act: (value: V, key: K, map: ReadonlyMap<K, V>) => void): void {
    for (const [key, stored] of this.#stored) act(this.#valueOf(stored, key), key, this);
  }
}
