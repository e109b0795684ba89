// Encodes the WAF of an inventory, and the managed entries on the WAFs of other domains: one line per entry and origin, in the
// format of the main sections, prefixed with the domain and the section name.
import { decodeWord, encodeWord } from "../model/encoded-word.ts";
import type { Entry } from "../model/entry.ts";
import type { Inventory, Managed, OwnedEntry, OwnedOrigin } from "../model/inventory.ts";
import { type EntryReader, type EntryWriter, mergeEntryLines } from "./inventory-entries.ts";
import { originLine, readOriginLine } from "./inventory-origins.ts";

const nothing = "-";

type Identity = Pick<Inventory, "waf" | "continued">;

/** `<base URL> <mark of the API key> <continued instance>`; empty before the first sync. */
export function encodeIdentity({ waf, continued }: Identity): string {
  if (waf === undefined && continued === undefined) return "";
  return [waf?.baseUrl, waf?.keyMark, continued]
    .map((word) => (word === undefined ? nothing : encodeWord(word)))
    .join(" ");
}

/** Undefined if the text is invalid. */
export function decodeIdentity(text: string): Identity | undefined {
  if (text === "") return { waf: undefined, continued: undefined };
  const words = text.split(" ").map((word) => (word === nothing ? undefined : decodeWord(word)));
  const [baseUrl, keyMark, continued] = words;
  if (words.length !== 3 || words.includes(null)) return undefined;
  const waf = typeof baseUrl === "string" && typeof keyMark === "string" ? { baseUrl, keyMark } : undefined;
  return { waf, continued: continued ?? undefined };
}

export interface MutableManaged {
  readonly entries: { readonly blocklist: Map<Entry, OwnedEntry>; readonly allowlist: Map<Entry, OwnedEntry> };
  readonly origins: Map<string, OwnedOrigin>;
}

export function* otherDomainLines(others: ReadonlyMap<string, Managed>, writer: EntryWriter): Iterable<string> {
  for (const [domain, { entries, origins }] of others) {
    const word = encodeWord(domain);
    for (const line of writer.lines(entries.blocklist)) yield `${word} blocklist ${line}`;
    for (const line of writer.lines(entries.allowlist)) yield `${word} allowlist ${line}`;
    for (const origin of origins) yield `${word} origins ${originLine(origin)}`;
  }
}

/** Adds the record of one line; false if the line is invalid. */
export function readOtherDomainLine(line: string, others: Map<string, MutableManaged>, reader: EntryReader): boolean {
  const { domainWord, section, rest } = partsOf(line);
  const domain = decodeWord(domainWord);
  if (typeof domain !== "string") return false;
  const managed = others.get(domain) ?? { entries: { blocklist: new Map(), allowlist: new Map() }, origins: new Map() };
  others.set(domain, managed);
  if (section === "origins") return readOriginLine(rest, managed.origins);
  if (section !== "blocklist" && section !== "allowlist") return false;
  return reader.readEntry(rest, managed.entries[section]);
}

/** The entry's line within a line of another domain; undefined for an origin. */
export function entryLineOf(line: string): string | undefined {
  const { section, rest } = partsOf(line);
  return section === "origins" ? undefined : rest;
}

/** The subject of the line: the domain, the section, and the entry or host. */
export function otherDomainKey(line: string): string {
  return line.split(" ", 3).join(" ");
}

/** Merges two lines about the same subject after a crash between two shards. */
export function mergeOtherDomainLines(a: string, b: string): string {
  const { domainWord, section, rest } = partsOf(a);
  if (section === "origins") return a.length >= b.length ? a : b;
  return `${domainWord} ${section} ${mergeEntryLines(rest, partsOf(b).rest)}`;
}

function partsOf(line: string): { readonly domainWord: string; readonly section: string; readonly rest: string } {
  const [domainWord = "", section = ""] = line.split(" ", 2);
  return { domainWord, section, rest: line.slice(domainWord.length + section.length + 2) };
}
