// The text of an inventory: one line of JSON, and then sections of one item per line.
//
//   {"format":1,"version":7,"domain":"shop.example.com", …}
//   [blocklist] {"manner":"Added","sinceMs":"2026-05-01T12:00:00.000Z","owners":"WafIpRule:shop/scanners","retainedBy":null}
//   203.0.113.7
//   [end]
//
// All entries of a list with the same record are in one section, whose first line contains the record. Sections and lines are sorted:
// equal inventories give equal text. Text that is not understood is rejected as a whole, because a partial inventory would orphan
// entries.
import * as z from "zod";
import { type ListName, listNames } from "../model/declared.ts";
import { decodeWord, encodeWord, type EntryOwners, parseOwners, unknownOwners } from "../model/entry-owners.ts";
import { type Entry, isOpaque } from "../address/entry.ts";
import { finished } from "../model/finished.ts";
import type { Inventory, Managed, OwnedEntry } from "../model/inventory.ts";
import { parseJson } from "../model/record.ts";
import { visibleText } from "../model/visible-text.ts";

export const inventoryFormat = 1;
/** The number of entries that take a few milliseconds. */
const sliceEntries = 10_000;
const excerptLengthMax = 80;

export type DecodedInventory =
  | { readonly ok: true; readonly inventory: Inventory }
  /** One sentence that names the line. */
  | { readonly ok: false; readonly problem: string };

/** Undefined is stored as null: every field is always present. */
const maybe = <Schema extends z.ZodType>(schema: Schema) =>
  z.union([schema, z.codec(z.null(), z.undefined(), { decode: () => undefined, encode: () => null })]);
const text = z.string();
/** Readable in the text. */
const time = z.codec(text, z.number(), {
  decode: (written) => Date.parse(written),
  encode: (timeMs) => new Date(timeMs).toISOString(),
});
const count = z.int().min(0);
const list = z.enum(listNames);
const entry = text.refine(isEntry) as unknown as z.ZodType<Entry, string>;
const owners = z.codec(
  text,
  z.custom<EntryOwners>((value) => typeof value === "string"),
  {
    decode: (words, { issues }) => {
      const parsed = parseOwners(words === "" ? [] : words.split(" "));
      if (parsed === undefined) issues.push({ code: "custom", input: words });
      return parsed ?? unknownOwners;
    },
    encode: (words) => words,
  },
);
const manner = z.enum(["Added", "Adopted"]);
const allowed = z.strictObject({ count, sinceMs: time });
const origin = z.strictObject({
  type: z.enum(["Alternate", "Backup"]),
  addedAtMs: maybe(time),
  unconfirmed: maybe(text),
  retainedBy: maybe(text),
  owners,
  manner,
});
/** By host or domain, each of which is there once. */
const byName = <Schema extends z.ZodType>(schema: Schema) =>
  z.array(z.tuple([text, schema])).refine((pairs) => new Set(pairs.map(([name]) => name)).size === pairs.length);

const head = z.strictObject({
  format: z.literal(inventoryFormat),
  version: count,
  domain: maybe(text),
  waf: maybe(z.strictObject({ baseUrl: text, keyMark: text })),
  continued: maybe(text),
  approvals: count,
  approval: maybe(z.strictObject({ hash: text })),
  allowed: z.strictObject({ blocklist: allowed, allowlist: allowed }),
  refusals: z.array(z.strictObject({ operation: text, message: text, refusedAtMs: time, wantedBy: text })),
  handledTriggers: z.array(z.strictObject({ cacheClear: text, trigger: text, handledAtMs: time })),
  origins: byName(origin),
  /** Their origins. */
  otherDomains: byName(byName(origin)),
});
/** The record of the entries of a section. */
const row = z.strictObject({
  manner,
  sinceMs: maybe(time),
  owners,
  retainedBy: maybe(text),
  missingSinceMs: time.exactOptional(),
  lines: z.int().min(2).exactOptional(),
});
const dispute = z.strictObject({ list, entry, atMs: z.array(time) });

export function encodeInventory(inventory: Inventory): string {
  return finished(inventorySlices(inventory));
}

/** The same in slices: a million entries block the event loop for a second. */
export function* inventorySlices(inventory: Inventory): Generator<undefined, string> {
  const { approval, allowed: removing, entries, origins, otherDomains, disputes, ...same } = inventory;
  const first = jsonLine(head, {
    format: inventoryFormat,
    ...same,
    approval: approval && { hash: approval.hash },
    allowed: { blocklist: countOf(removing.blocklist), allowlist: countOf(removing.allowlist) },
    origins: sorted(origins),
    otherDomains: sorted(otherDomains).map(([domain, managed]) => [domain, sorted(managed.origins)]),
  } as z.output<typeof head>);
  const texts = [`${first}\n`];
  const add = (title: string, lines: readonly string[]): void => {
    if (lines.length > 0) texts.push(`${title}\n${lines.toSorted().join("\n")}\n`);
  };
  for (const [domain, managed] of [[undefined, { entries }] as const, ...sorted(otherDomains)]) {
    for (const name of listNames) {
      const byRow = yield* linesByRow(managed.entries[name]);
      for (const [record, lines] of sorted(byRow)) add(`[${titleOf(name, domain)}] ${record}`, lines);
    }
  }
  const disputed = disputes.map((one) => jsonLine(dispute, one as z.output<typeof dispute>));
  add("[disputes]", disputed);
  for (const name of listNames) add(`[removing ${name}]`, [...removing[name].pending].map(encodeWord));
  for (const name of listNames) add(`[approved ${name}]`, [...(approval?.removals[name] ?? [])].map(encodeWord));
  return [...texts, "[end]\n"].join("");
}

function countOf({ count: removed, sinceMs }: Inventory["allowed"][ListName]): z.output<typeof allowed> {
  return { count: removed, sinceMs };
}

function sorted<Value>(values: ReadonlyMap<string, Value>): [string, Value][] {
  return [...values].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** @param domain undefined for the current one */
function titleOf(name: ListName, domain: string | undefined): string {
  return domain === undefined ? name : `${name} ${encodeWord(domain)}`;
}

function* linesByRow(entries: ReadonlyMap<Entry, OwnedEntry>): Generator<undefined, Map<string, string[]>> {
  const byRow = new Map<string, string[]>();
  let size = 0;
  for (const [one, record] of entries) {
    const known = rowOf(record);
    const lines = byRow.get(known);
    if (lines === undefined) byRow.set(known, [encodeWord(one)]);
    else lines.push(encodeWord(one));
    size += 1;
    if (size % sliceEntries === 0) yield undefined;
  }
  return byRow;
}

function rowOf(record: OwnedEntry): string {
  const known = knownRows.get(record) ?? jsonLine(row, record);
  knownRows.set(record, known);
  return known;
}

// A record is saved repeatedly with the same owners, and guests can have thousands of them.
const knownRows = new WeakMap<OwnedEntry, string>();

/** Decodes the inventory, or says why that is impossible: it is damaged, or a newer wafsync wrote it. */
export function decodeInventory(stored: string): DecodedInventory {
  const [first = "", ...lines] = stored.replaceAll("\r", "").split("\n");
  const { format } = (parseJson(first) ?? {}) as { readonly format?: unknown };
  if (typeof format === "number" && format > inventoryFormat) {
    const problem = `The inventory has format ${format}, but this version of wafsync reads format ${inventoryFormat}: run the newer version that wrote it.`;
    return { ok: false, problem };
  }
  const parsed = head.safeParse(parseJson(first));
  if (!parsed.success) return damaged(1, first);
  const { inventory, sections } = startOf(parsed.data);
  let readLine: ReadLine | undefined;
  let isComplete = false;
  for (const [index, line] of lines.entries()) {
    if (line === "") continue;
    if (isComplete) return damaged(index + 2, line);
    isComplete = line === "[end]";
    const [, title, record] = /^\[(.*?)\](?: (\{.*))?$/u.exec(line) ?? [];
    if (title !== undefined) readLine = sections.get(title)?.(record);
    const isRead = title === undefined ? readLine?.(line) === true : isComplete || readLine !== undefined;
    if (!isRead) return damaged(index + 2, line);
  }
  if (!isComplete) return { ok: false, problem: "The inventory is damaged: its end is missing." };
  return { ok: true, inventory };
}

/** Adds a line of a section to the inventory; false if it is invalid. */
type ReadLine = (line: string) => boolean;

/** By title, the reader of a section; it is undefined if the record in the first line of the section is invalid. */
type Sections = Map<string, (record: string | undefined) => ReadLine | undefined>;

/** The inventory with what the first line contains, and how sections add to it. */
function startOf(first: z.output<typeof head>): { readonly inventory: Inventory; readonly sections: Sections } {
  const { format: _, approval, allowed: counts, origins, otherDomains, ...rest } = first;
  const sections: Sections = new Map();
  const setOf = (title: string): Set<Entry> => {
    const entries = new Set<Entry>();
    sections.set(title, () => (line) => addEntry(line, (one) => entries.add(one)));
    return entries;
  };
  const mapOf = (title: string): Map<Entry, OwnedEntry> => {
    const entries = new Map<Entry, OwnedEntry>();
    sections.set(title, (text) => {
      const { data: record } = row.safeParse(parseJson(text ?? ""));
      return record && ((line) => addEntry(line, (one) => !entries.has(one) && entries.set(one, record)));
    });
    return entries;
  };
  const managedOf = (own: typeof origins, domain?: string): Managed => ({
    entries: { blocklist: mapOf(titleOf("blocklist", domain)), allowlist: mapOf(titleOf("allowlist", domain)) },
    origins: new Map(own),
  });
  const disputes: Inventory["disputes"][number][] = [];
  sections.set("disputes", () => (line) => {
    const { data } = dispute.safeParse(parseJson(line));
    return data !== undefined && disputes.push(data) > 0;
  });
  const removals = { blocklist: setOf("approved blocklist"), allowlist: setOf("approved allowlist") };
  const inventory: Inventory = {
    ...rest,
    ...managedOf(origins),
    otherDomains: new Map(otherDomains.map(([domain, own]) => [domain, managedOf(own, domain)])),
    disputes,
    approval: approval && { hash: approval.hash, removals },
    allowed: {
      blocklist: { ...counts.blocklist, pending: setOf("removing blocklist") },
      allowlist: { ...counts.allowlist, pending: setOf("removing allowlist") },
    },
  };
  return { inventory, sections };
}

/** Addresses, networks, and opaque entries of the WAF. @param add returns false if the entry is invalid nevertheless */
function addEntry(line: string, add: (entry: Entry) => unknown): boolean {
  const decoded = decodeWord(line);
  return typeof decoded === "string" && isEntry(decoded) && add(decoded as Entry) !== false;
}

function isEntry(value: string): boolean {
  return isOpaque(value as Entry) || /^[0-9a-f.:/]+$/u.test(value);
}

/** The line is safe to show on a terminal. */
function jsonLine<Schema extends z.ZodType>(schema: Schema, value: z.output<Schema>): string {
  return visibleText(JSON.stringify(z.encode(schema, value)));
}

function damaged(line: number, content: string): DecodedInventory {
  const excerpt = content.length > excerptLengthMax ? `${content.slice(0, excerptLengthMax)}…` : content;
  return {
    ok: false,
    problem: `The inventory is damaged: line ${line} is not understood: ${visibleText(JSON.stringify(excerpt))}`,
  };
}
