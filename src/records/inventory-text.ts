// The text of an inventory: JSON with one value per line, whose fields are those of the inventory. All entries of a list with the same
// record are in one section, which contains the record once. Sections and entries are sorted: equal inventories give equal text, and a
// change of one entry changes one line. Text that is not understood is rejected as a whole, because a partial inventory would orphan
// entries.
import * as z from "zod";
import { listNames } from "../model/declared.ts";
import { type EntryOwners, parseOwners, unknownOwners } from "../model/rule-id.ts";
import { type Entry, isOpaque } from "../address/entry.ts";
import type { Inventory, OwnedEntry } from "../model/inventory.ts";
import { isRecord, parseJson } from "../model/record.ts";
import { visibleLines, visibleText } from "../model/texts.ts";

export const inventoryFormat = 1;

export type DecodedInventory =
  | { readonly ok: true; readonly inventory: Inventory }
  /** One sentence that names the damaged field. */
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
/** Addresses, networks, and opaque entries of the WAF. */
const entry = text.refine((value) => isOpaque(value as Entry) || /^[0-9a-f.:/]+$/u.test(value)) as unknown as z.ZodType<
  Entry,
  string
>;
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
const origin = z.strictObject({
  type: z.enum(["Alternate", "Backup"]),
  addedAtMs: maybe(time),
  unconfirmed: maybe(text),
  retainedBy: maybe(text),
  owners,
  manner,
});
/** By host or domain. */
const byName = <Schema extends z.ZodType>(schema: Schema) =>
  z.codec(
    z.array(z.tuple([text, schema])).refine((pairs) => new Set(pairs.map(([name]) => name)).size === pairs.length),
    z.custom<ReadonlyMap<string, z.output<Schema>>>(),
    { decode: (pairs) => new Map(pairs as [string, z.output<Schema>][]), encode: sorted },
  );
const byList = <Schema extends z.ZodType>(schema: Schema) => z.strictObject({ blocklist: schema, allowlist: schema });
const entries = z.codec(z.array(entry), z.custom<ReadonlySet<Entry>>(), {
  decode: (listed) => new Set(listed),
  encode: (set) => [...set].toSorted(),
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
const ownedEntries = z.codec(
  z.array(row.extend({ entries: z.array(entry) })),
  z.custom<ReadonlyMap<Entry, OwnedEntry>>(),
  {
    decode: (sections, { issues }) => {
      const pairs = sections.flatMap(({ entries: listed, ...record }) => listed.map((one) => [one, record] as const));
      const owned = new Map(pairs);
      if (owned.size < pairs.length)
        issues.push({ code: "custom", input: sections, message: "an entry is duplicated" });
      return owned;
    },
    encode: (owned) => {
      // Nearly all entries share a few objects.
      const byObject = Map.groupBy(owned, ([, record]) => record);
      const byRecord = Map.groupBy(byObject, ([record]) => JSON.stringify(record, Object.keys(row.shape)));
      return sorted(byRecord).flatMap(([, same]) => {
        const listed = same.flatMap(([, pairs]) => pairs.map(([one]) => one)).toSorted();
        return same.slice(0, 1).map(([record]) => ({ ...record, entries: listed }));
      });
    },
  },
);
const managed = z.strictObject({ entries: byList(ownedEntries), origins: byName(origin) });

const format = z.strictObject({
  format: z.literal(inventoryFormat),
  version: count,
  domain: maybe(text),
  waf: maybe(z.strictObject({ baseUrl: text, keyMark: text })),
  continued: maybe(text),
  approvals: count,
  approval: maybe(z.strictObject({ hash: text, removals: byList(entries) })),
  allowed: byList(z.strictObject({ pending: entries, count, sinceMs: time })),
  refusals: z.array(z.strictObject({ operation: text, message: text, refusedAtMs: time, wantedBy: text })),
  disputes: z.array(z.strictObject({ list: z.enum(listNames), entry, atMs: z.array(time) })),
  handledTriggers: z.array(z.strictObject({ cacheClear: text, trigger: text, handledAtMs: time })),
  ...managed.shape,
  otherDomains: byName(managed),
});

/** The lines are safe to show on a terminal. */
export function encodeInventory(inventory: Inventory): string {
  const value = { format: inventoryFormat, ...inventory } as z.output<typeof format>;
  const lines = visibleLines(JSON.stringify(z.encode(format, value), undefined, 1));
  // The first line has the version, which each save changes, because a store keeps that line apart.
  return `${lines.replace(/^\{\n (.*)\n (.*)\n/, "{ $1 $2\n")}\n`;
}

function sorted<Value>(values: ReadonlyMap<string, Value>): [string, Value][] {
  return [...values].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** Decodes the inventory, or says why that is impossible: it is damaged, or a newer wafsync wrote it. */
export function decodeInventory(stored: string): DecodedInventory {
  const value = parseJson(stored);
  if (value === undefined) return { ok: false, problem: "The inventory is damaged: it is not complete JSON." };
  const written = isRecord(value) ? value["format"] : undefined;
  if (typeof written === "number" && written > inventoryFormat) {
    const problem = `The inventory has format ${written}, but this version of wafsync reads format ${inventoryFormat}: run the newer version that wrote it.`;
    return { ok: false, problem };
  }
  const parsed = format.safeParse(value);
  if (parsed.success) {
    const { format: _, ...inventory } = parsed.data;
    return { ok: true, inventory };
  }
  const [{ path, message } = { path: [], message: "" }] = parsed.error.issues;
  const problem = `The inventory is damaged: ${z.core.toDotPath(path) || "the whole text"} is not understood: ${message}.`;
  return { ok: false, problem: visibleText(problem) };
}
