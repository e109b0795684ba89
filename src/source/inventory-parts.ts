// The declared entries that a managed entry represents, as lines: `blocklist 203.0.113.0/24 ~7 ~9`. If a part begins like its
// entry, `~` replaces that beginning. Several lines for one entry keep each line short; lines without their entry are ignored.
import { decodeWord, encodeWord } from "../model/encoded-word.ts";
import type { ListName } from "../model/declared.ts";
import type { Entry } from "../model/entry.ts";
import type { OwnedEntry } from "../model/inventory.ts";
import { decodeEntry } from "./inventory-entries.ts";

const partsPerLine = 100;
/** Replaces the beginning of the entry, up to its last separator. */
const sameStart = "~";

export type EntryParts = Readonly<Record<ListName, Map<Entry, Set<Entry>>>>;

export function* partLines(list: ListName, entries: ReadonlyMap<Entry, OwnedEntry>): Iterable<string> {
  for (const [entry, { standsFor }] of entries) {
    if (standsFor === undefined) continue;
    const start = startOf(entry);
    // Sorted, so that equal sets give equal lines.
    const words = [...standsFor]
      .sort()
      .map((part) => (part.startsWith(start) ? `${sameStart}${part.slice(start.length)}` : encodeWord(part)));
    for (let from = 0; from < words.length; from += partsPerLine) {
      yield [list, encodeWord(entry), ...words.slice(from, from + partsPerLine)].join(" ");
    }
  }
}

/** Adds the parts of one line; false if it is invalid. */
export function readPartLine(line: string, into: EntryParts): boolean {
  const [list, word, ...words] = line.split(" ");
  const entry = decodeEntry(word);
  if ((list !== "blocklist" && list !== "allowlist") || entry === undefined || words.length === 0) return false;
  const start = startOf(entry);
  const parts = into[list].get(entry) ?? new Set();
  into[list].set(entry, parts);
  for (const one of words) {
    const text = one.startsWith(sameStart) ? `${start}${one.slice(sameStart.length)}` : decodeWord(one);
    const part = typeof text === "string" ? decodeEntry(encodeWord(text)) : undefined;
    if (part === undefined) return false;
    parts.add(part);
  }
  return true;
}

/** Replaces the records of entries that have parts. */
export function addParts(entries: Map<Entry, OwnedEntry>, parts: ReadonlyMap<Entry, ReadonlySet<Entry>>): void {
  for (const [entry, standsFor] of parts) {
    const record = entries.get(entry);
    if (record !== undefined) entries.set(entry, { ...record, standsFor: [...standsFor] });
  }
}

function startOf(entry: Entry): string {
  return entry.slice(0, Math.max(entry.lastIndexOf("."), entry.lastIndexOf(":")) + 1);
}
