// Splits the text of an inventory into shards for stores of limited size (WafRecords), and joins them again. Rendezvous hashing
// assigns lines to shards: an additional shard only receives lines, and a removed last shard only loses lines. Each shard
// contains the owner rows of its entries. A crash between the writes therefore loses nothing if the writer follows this order:
// write the shards from the last to the first, and only then delete those that are no longer needed.
import { checkFormat, joinLines, joinSorted, scalarsOf, sectionLines, sectionsOf } from "./inventory-codec.ts";
import type { LineSection } from "./inventory-codec.ts";
import { entryLineOf, mergeOtherDomainLines, otherDomainKey } from "./inventory-domains.ts";
import { mergeEntryLines, rowIdOf } from "./inventory-entries.ts";

const shardsMax = 1_000;

export type JoinedShards =
  | { readonly ok: true; readonly record: Record<string, string> }
  | { readonly ok: false; readonly problem: string };

/**
 * The sections of `encodeInventory` as shards of at most `bytesMax` bytes (names and values), each with `shard: i/n`.
 * @throws RangeError if a single line is too large for a shard
 */
export function shardInventory(record: Readonly<Record<string, string>>, bytesMax: number): Record<string, string>[] {
  const countMin = Math.max(1, Math.ceil(byteLength(record) / bytesMax));
  for (let count = countMin; count <= shardsMax; count += Math.ceil(count / 4)) {
    const shards = splitInto(record, count);
    if (shards.every((shard) => byteLength(shard) <= bytesMax)) return shards;
  }
  throw new RangeError(`The inventory does not fit into ${shardsMax} shards of ${bytesMax} bytes.`);
}

/**
 * Joins shards in any order to sections. Shards beyond the count in the first one remain from an interrupted write;
 * their lines count, because they may have been moved there.
 */
export function joinShards(shards: readonly Readonly<Record<string, string>>[]): JoinedShards {
  const byIndex = new Map<number, Readonly<Record<string, string>>>();
  let count = 0;
  for (const shard of shards) {
    const problem = checkFormat(shard);
    if (problem !== undefined) return { ok: false, problem };
    const position = /^(?<index>[1-9][0-9]{0,3})\/(?<count>[1-9][0-9]{0,3})$/.exec(shard["shard"] ?? "")?.groups;
    if (position === undefined) return { ok: false, problem: "The inventory is damaged: a shard has no number." };
    const index = Number(position["index"]);
    if (byIndex.has(index)) return { ok: false, problem: `The inventory is damaged: shard ${index} exists twice.` };
    byIndex.set(index, shard);
    if (index === 1) count = Number(position["count"]);
  }
  const first = byIndex.get(1);
  const missing = Array.from({ length: Math.max(1, count) }, (_, index) => index + 1).find(
    (index) => !byIndex.has(index),
  );
  if (first === undefined || missing !== undefined) {
    return { ok: false, problem: `The inventory is damaged: shard ${missing ?? 1} is missing.` };
  }
  return join(
    first,
    [...byIndex].sort(([left], [right]) => left - right).map(([, shard]) => shard),
  );
}

function join(
  first: Readonly<Record<string, string>>,
  shards: readonly Readonly<Record<string, string>>[],
): JoinedShards {
  // A crash during an upgrade leaves shards of two formats.
  const format = Math.max(...shards.map((shard) => Number(shard["format"])));
  const record: Record<string, string> = { format: String(format) };
  for (const scalar of scalarsOf(record)) record[scalar] = first[scalar] ?? "";
  for (const section of sectionsOf(record)) {
    const lines = new Map<string, string>();
    for (const shard of shards) {
      const text = shard[section];
      if (text === undefined && sectionsOf(shard).includes(section)) {
        return { ok: false, problem: `The inventory is damaged: section ${section} is missing.` };
      }
      for (const line of sectionLines(text ?? "")) {
        const key = lineKey(section, line);
        const other = lines.get(key);
        lines.set(key, other === undefined ? line : mergeLines(section, other, line));
      }
    }
    record[section] = joinLines(lines.values());
  }
  return { ok: true, record };
}

/** Merges two lines about the same subject after a crash. */
function mergeLines(section: LineSection, a: string, b: string): string {
  if (isListSection(section)) return mergeEntryLines(a, b);
  if (section === "other-domains") return mergeOtherDomainLines(a, b);
  // The longer line contains the retaining object, and keeping it is safer.
  return a.length >= b.length ? a : b;
}

function splitInto(record: Readonly<Record<string, string>>, count: number): Record<string, string>[] {
  if (count === 1) return [shardOfAll(record)];
  const sections = Array.from({ length: count }, () => new Map<LineSection, string[]>());
  const rows = rowsById(record);
  for (const section of sectionsOf(record)) {
    if (section === "owners") continue;
    for (const line of sectionLines(record[section] ?? "")) {
      const target: Map<LineSection, string[]> | undefined = sections[shardOf(lineKey(section, line), count)];
      const lines = target?.get(section);
      if (lines === undefined) target?.set(section, [line]);
      else lines.push(line);
    }
  }
  return sections.map((lines, index) => {
    const others = (lines.get("other-domains") ?? []).flatMap((line) => entryLineOf(line) ?? []);
    lines.set(
      "owners",
      rowsFor([...(lines.get("blocklist") ?? []), ...(lines.get("allowlist") ?? []), ...others], rows).toSorted(),
    );
    return {
      format: record["format"] ?? "",
      shard: `${index + 1}/${count}`,
      ...Object.fromEntries(scalarsOf(record).map((scalar) => [scalar, record[scalar] ?? ""])),
      ...Object.fromEntries(sectionsOf(record).map((section) => [section, joinSorted(lines.get(section) ?? [])])),
    };
  });
}

/** Nearly all inventories fit into one shard: their lines are already sorted, and all rows of owners are needed. */
function shardOfAll(record: Readonly<Record<string, string>>): Record<string, string> {
  const sections = [...scalarsOf(record), ...sectionsOf(record)].map((name) => [name, record[name] ?? ""]);
  return { format: record["format"] ?? "", shard: "1/1", ...Object.fromEntries(sections) };
}

function rowsById(record: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(sectionLines(record["owners"] ?? "").map((line) => [line.split(" ", 1)[0] ?? "", line]));
}

function rowsFor(entryLines: readonly string[], rows: ReadonlyMap<string, string>): string[] {
  const needed = new Set<string>();
  for (const line of entryLines) {
    const row = rows.get(rowIdOf(line) ?? "");
    if (row !== undefined) needed.add(row);
  }
  return [...needed];
}

function isListSection(section: LineSection): boolean {
  return section === "blocklist" || section === "allowlist";
}

/** Identifies the subject of a line: the line stays in its shard if only the rest of it changes. */
function lineKey(section: LineSection, line: string): string {
  if (section === "other-domains") return otherDomainKey(line);
  if (!isListSection(section) && section !== "origins") return line;
  const space = line.indexOf(" ");
  return space === -1 ? line : line.slice(0, space);
}

/** Rendezvous hashing: the shard with the highest score. */
function shardOf(key: string, count: number): number {
  if (count === 1) return 0;
  const base = hash(key);
  let best = 0;
  let bestScore = -1;
  for (let index = 0; index < count; index += 1) {
    const score = mix(base ^ Math.imul(index + 1, 0x9e3779b1));
    if (score > bestScore) [best, bestScore] = [index, score];
  }
  return best;
}

/**
 * FNV-1a over UTF-16 units. It must never change: with another hash, lines of stored inventories would move between shards,
 * and a crash during the first save after the upgrade would lose entries.
 */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  return value;
}

/** The finalizer of MurmurHash3: spreads the bits evenly. */
function mix(value: number): number {
  let bits = value;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

function byteLength(record: Readonly<Record<string, string>>): number {
  return Object.entries(record).reduce((sum, [name, text]) => sum + name.length + Buffer.byteLength(text), 0);
}
