// The entries of one rule: parsed, made canonical, without duplicates. Nothing here depends on other rules.
import type { AddressText, GatheredRule } from "../../model/gathered.ts";
import type { Entry } from "../../model/entry.ts";
import { parseDeclaredEntry } from "../../model/entry.ts";
import { type AddressLine, readAddressLines } from "./address-lines.ts";

/** A millisecond or two. */
const sliceLines = 500;

export interface RejectedEntry {
  /** As the user wrote it. */
  readonly entry: string;
  readonly source: string;
  readonly message: string;
  /** A feed lists it: who uses a feed can't correct it, so the rule is in order without it. */
  readonly isOfFeed?: true;
}

/** The entries of one source of a rule: `spec.addresses`, the text of one ConfigMap, or a feed. */
export interface RulePart {
  /** Undefined for `spec.addresses`. */
  readonly source: string | undefined;
  /** With the position at which each was first written. */
  readonly entries: ReadonlyMap<Entry, string>;
  readonly isOfFeed?: true;
}

export interface RuleEntries {
  /** With the position at which each was first written. */
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
}

// Sources hand out the same object while its content is unchanged, so that a change of one rule does not parse all others.
const parsedInline = new WeakMap<readonly string[], ParsedAddresses>();
const parsedTexts = new WeakMap<AddressText, ParsedAddresses>();

/** Parses what a rule says itself and what its ConfigMaps say. Pure: the same input gives the same answer. */
export function readRuleEntries({ rule, texts }: GatheredRule): RuleEntries {
  const parsed = [remembered(parsedInline, rule.addresses, () => parseInline(rule.addresses))];
  const missing: MissingText[] = [];
  for (const text of texts) {
    if (text.state === "Missing") missing.push(text);
    else parsed.push(remembered(parsedTexts, text, () => readText(text)));
  }
  const parts = parsed.filter(({ entries }) => entries.size > 0);
  return { entries: mergeParts(parts), parts, invalid: parsed.flatMap(({ invalid }) => invalid), missing };
}

/**
 * Parses the rule and caches the result, so that `readRuleEntries` has nothing left to parse. Yields regularly, so that the
 * caller can run other work in between.
 */
export function* parseInSlices({ rule, texts }: GatheredRule): Generator<undefined> {
  if (!parsedInline.has(rule.addresses)) {
    const inline = { source: undefined, ...(yield* parseLines(linesOf(rule.addresses))) };
    parsedInline.set(rule.addresses, inline);
  }
  for (const text of texts) {
    if (text.state !== "Read" || parsedTexts.has(text)) continue;
    parsedTexts.set(text, yield* parseText(text.text, text.source));
    yield undefined;
  }
}

function mergeParts(parts: readonly RulePart[]): ReadonlyMap<Entry, string> {
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) return only.entries;
  const merged = new Map<Entry, string>();
  for (const { entries } of parts) {
    for (const [entry, place] of entries) if (!merged.has(entry)) merged.set(entry, place);
  }
  return merged;
}

function remembered<K extends object>(
  memory: WeakMap<K, ParsedAddresses>,
  key: K,
  parse: () => ParsedAddresses,
): ParsedAddresses {
  const known = memory.get(key);
  if (known !== undefined) return known;
  const parsed = parse();
  memory.set(key, parsed);
  return parsed;
}

function parseInline(addresses: readonly string[]): ParsedAddresses {
  return { source: undefined, ...finished(parseLines(linesOf(addresses))) };
}

function linesOf(addresses: readonly string[]): readonly AddressLine[] {
  return addresses.map((text, index) => ({ text, source: `spec.addresses[${index}]` }));
}

function readText(text: Exclude<AddressText, MissingText>): ParsedAddresses {
  if (text.state === "Read") return finished(parseText(text.text, text.source));
  const { source } = text;
  return { source, entries: new Map(text.entries.map((entry) => [entry, source])), isOfFeed: true, invalid: [] };
}

function* parseText(text: string, source: string): Generator<undefined, ParsedAddresses> {
  return { source, ...(yield* parseLines(readAddressLines(text, source))) };
}

function* parseLines(lines: readonly AddressLine[]): Generator<undefined, Omit<ParsedAddresses, "source">> {
  const entries = new Map<Entry, string>();
  const invalid: RejectedEntry[] = [];
  let count = 0;
  for (const { text, source } of lines) {
    const parsed = parseDeclaredEntry(text);
    if (!parsed.ok) invalid.push({ entry: text, source, message: parsed.fault.message });
    else if (!entries.has(parsed.entry)) entries.set(parsed.entry, source);
    count += 1;
    if (count % sliceLines === 0) yield undefined;
  }
  return { entries, invalid };
}

/** All slices at once. */
function finished<T>(slices: Generator<undefined, T>): T {
  let slice = slices.next();
  while (slice.done !== true) slice = slices.next();
  return slice.value;
}
