// The entries of one rule: parsed, made canonical, without duplicates. Nothing here depends on other rules.
import type { AddressText, GatheredRule } from "../../model/gathered.ts";
import type { Entry } from "../../model/entry.ts";
import { parseDeclaredEntry } from "../../model/entry.ts";
import { readAddressLines } from "./address-lines.ts";

export interface RejectedEntry {
  /** As the user wrote it. */
  readonly entry: string;
  readonly source: string;
  readonly message: string;
}

export interface RuleEntries {
  /** With the place where each was first written. */
  readonly entries: ReadonlyMap<Entry, string>;
  readonly invalid: readonly RejectedEntry[];
  /** Sources that could not be read, one sentence each. */
  readonly missing: readonly string[];
}

interface ParsedAddresses {
  readonly entries: readonly { readonly entry: Entry; readonly source: string }[];
  readonly invalid: readonly RejectedEntry[];
}

// Sources hand out the same object while its content is unchanged, so that a change of one rule does not parse all others.
const parsedInline = new WeakMap<readonly string[], ParsedAddresses>();
const parsedTexts = new WeakMap<AddressText, ParsedAddresses>();

/** Parses what a rule says itself and what its ConfigMaps say. Pure: the same input gives the same answer. */
export function readRuleEntries({ rule, texts }: GatheredRule): RuleEntries {
  const entries = new Map<Entry, string>();
  const invalid: RejectedEntry[] = [];
  const missing: string[] = [];
  const take = (parsed: ParsedAddresses): void => {
    for (const { entry, source } of parsed.entries) if (!entries.has(entry)) entries.set(entry, source);
    invalid.push(...parsed.invalid);
  };
  take(remembered(parsedInline, rule.addresses, () => parseInline(rule.addresses)));
  for (const text of texts) {
    if (text.state === "Missing") missing.push(text.problem);
    else take(remembered(parsedTexts, text, () => parseLines(readAddressLines(text.text, text.source))));
  }
  return { entries, invalid, missing };
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
  return parseLines(addresses.map((text, index) => ({ text, source: `spec.addresses[${index}]` })));
}

function parseLines(lines: readonly { readonly text: string; readonly source: string }[]): ParsedAddresses {
  const entries: { entry: Entry; source: string }[] = [];
  const invalid: RejectedEntry[] = [];
  for (const { text, source } of lines) {
    const parsed = parseDeclaredEntry(text);
    if (parsed.ok) entries.push({ entry: parsed.entry, source });
    else invalid.push({ entry: text, source, message: parsed.fault.message });
  }
  return { entries, invalid };
}
