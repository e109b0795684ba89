// The text of an inventory: one line of JSON, and then sections of one item per line.
//
//   {"format":1,"version":7,"domain":"shop.example.com", …}
//   [owners]
//   1f03c9a2be {"manner":"Added","sinceMs":"2026-05-01T12:00:00.000Z","owners":"WafIpRule:shop/scanners","retainedBy":null}
//   [blocklist]
//   203.0.113.7 1f03c9a2be
//   [end]
//
// Entries refer to rows of `owners`, because many have the same record. A row's ID is derived from its content, not numbered, so that
// a new row changes no other line. Lines are sorted: equal inventories give equal text. Text that is not understood is rejected as
// a whole, because a partial inventory would orphan entries.
import * as z from "zod";
import { type ListName, listNames } from "../model/declared.ts";
import { decodeWord, encodeWord, type EntryOwners, parseOwners, unknownOwners } from "../model/entry-owners.ts";
import { type Entry, isOpaque } from "../address/entry.ts";
import { finished } from "../model/finished.ts";
import { hexDigest } from "../model/hex-digest.ts";
import type { Inventory, Managed, OwnedEntry, OwnedOrigin } from "../model/inventory.ts";
import { parseJson } from "../model/record.ts";
import { visibleText } from "../model/visible-text.ts";

export const inventoryFormat = 1;
const idLength = 10;
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
});
const row = z.strictObject({
  manner,
  sinceMs: maybe(time),
  owners,
  retainedBy: maybe(text),
  missingSinceMs: time.exactOptional(),
  lines: z.int().min(2).exactOptional(),
});
const dispute = z.strictObject({ list, entry, atMs: z.array(time) });
const origin = z.strictObject({
  host: text,
  type: z.enum(["Alternate", "Backup"]),
  addedAtMs: maybe(time),
  unconfirmed: maybe(text),
  retainedBy: maybe(text),
  owners,
  manner,
});
export function encodeInventory(inventory: Inventory): string {
  return finished(inventorySlices(inventory));
}

/** The same in slices: a million entries block the event loop for a second. */
export function* inventorySlices(inventory: Inventory): Generator<undefined, string> {
  const { approval, allowed: removing, entries, origins, otherDomains, disputes, ...same } = inventory;
  const rows = new RowWriter();
  const sections: string[] = [];
  const add = (title: string, lines: readonly string[]): void => {
    if (lines.length > 0) sections.push(`[${title}]\n${lines.toSorted().join("\n")}\n`);
  };
  const addManaged = function* (managed: Managed, suffix: string): Generator<undefined> {
    for (const name of listNames) add(`${name}${suffix}`, yield* rows.lines(managed.entries[name]));
    add(
      `origins${suffix}`,
      [...managed.origins].map(([host, known]) => jsonLine(origin, { host, ...known })),
    );
  };
  yield* addManaged({ entries, origins }, "");
  for (const [other, managed] of otherDomains) yield* addManaged(managed, ` ${encodeWord(other)}`);
  const disputed = disputes.map((one) => jsonLine(dispute, one as z.output<typeof dispute>));
  add("disputes", disputed);
  for (const name of listNames) add(`removing ${name}`, [...removing[name].pending].map(encodeWord));
  for (const name of listNames) add(`approved ${name}`, [...(approval?.removals[name] ?? [])].map(encodeWord));
  const first = jsonLine(head, {
    format: inventoryFormat,
    ...same,
    approval: approval && { hash: approval.hash },
    allowed: { blocklist: countOf(removing.blocklist), allowlist: countOf(removing.allowlist) },
  } as z.output<typeof head>);
  return [`${first}\n[owners]\n`, ...rows.sorted(), ...sections, "[end]\n"].join("");
}

function countOf({ count: removed, sinceMs }: Inventory["allowed"][ListName]): z.output<typeof allowed> {
  return { count: removed, sinceMs };
}

class RowWriter {
  /** The content of each row, by ID. */
  readonly #rows = new Map<string, string>();

  *lines(entries: ReadonlyMap<Entry, OwnedEntry>): Generator<undefined, string[]> {
    const lines: string[] = [];
    for (const [one, record] of entries) {
      lines.push(`${encodeWord(one)} ${this.#idOf(record)}`);
      if (lines.length % sliceEntries === 0) yield undefined;
    }
    return lines;
  }

  sorted(): string[] {
    return [...this.#rows].map(([id, content]) => `${id} ${content}\n`).toSorted();
  }

  #idOf(record: OwnedEntry): string {
    const { content, id: wanted } = rowOf(record);
    let id = wanted;
    while ((this.#rows.get(id) ?? content) !== content) id = hexDigest(id, idLength);
    this.#rows.set(id, content);
    return id;
  }
}

function rowOf(record: OwnedEntry): { readonly content: string; readonly id: string } {
  const former = knownRows.get(record);
  if (former !== undefined) return former;
  const content = jsonLine(row, record);
  const known = { content, id: hexDigest(content, idLength) };
  knownRows.set(record, known);
  return known;
}

// A record is saved repeatedly with the same owners, and guests can have thousands of them.
const knownRows = new WeakMap<OwnedEntry, { readonly content: string; readonly id: string }>();

interface MutableManaged {
  readonly entries: Record<ListName, Map<Entry, OwnedEntry>>;
  readonly origins: Map<string, OwnedOrigin>;
}

/** Decodes the inventory, or says why that is impossible: it is damaged, or a newer wafsync wrote it. */
export function decodeInventory(stored: string): DecodedInventory {
  const lines = stored.replaceAll("\r", "").split("\n");
  const first = lines[0] ?? "";
  const { format } = (parseJson(first) ?? {}) as { readonly format?: unknown };
  if (typeof format === "number" && format > inventoryFormat) {
    const problem = `The inventory has format ${format}, but this version of wafsync reads format ${inventoryFormat}: run the newer version that wrote it.`;
    return { ok: false, problem };
  }
  const parsed = head.safeParse(parseJson(first));
  if (!parsed.success) return damaged(1, first);
  const reader = new SectionReader(parsed.data);
  for (const [index, line] of lines.entries()) {
    if (index > 0 && line !== "" && !reader.read(line)) return damaged(index + 1, line);
  }
  if (!reader.isComplete) return { ok: false, problem: "The inventory is damaged: its end is missing." };
  return { ok: true, inventory: reader.inventory };
}

/** Adds lines to an inventory, in their order. */
class SectionReader {
  readonly inventory: Inventory;
  isComplete = false;
  readonly #rows = new Map<string, OwnedEntry>();
  readonly #own: MutableManaged = emptyManaged();
  readonly #others = new Map<string, MutableManaged>();
  readonly #disputes: Inventory["disputes"][number][] = [];
  readonly #removing: Record<ListName, Set<Entry>> = { blocklist: new Set(), allowlist: new Set() };
  readonly #approved: Record<ListName, Set<Entry>> = { blocklist: new Set(), allowlist: new Set() };
  /** Adds a line of the current section; false if it is invalid. */
  #readLine: ((line: string) => boolean) | undefined;

  constructor(first: z.output<typeof head>) {
    const { format: _, approval, allowed: counts, ...rest } = first;
    this.inventory = {
      ...rest,
      ...this.#own,
      otherDomains: this.#others,
      disputes: this.#disputes,
      approval: approval && {
        hash: approval.hash,
        removals: this.#approved,
      },
      allowed: {
        blocklist: { ...counts.blocklist, pending: this.#removing.blocklist },
        allowlist: { ...counts.allowlist, pending: this.#removing.allowlist },
      },
    };
  }

  read(line: string): boolean {
    if (this.isComplete) return false;
    if (line[0] !== "[") return this.#readLine?.(line) === true;
    this.isComplete = line === "[end]";
    const [, title = "", argument] = /^\[(\S+)(?: (\S+))?\]$/u.exec(line) ?? [];
    this.#readLine = this.#readerOf(title, argument);
    return this.isComplete || this.#readLine !== undefined;
  }

  #readerOf(title: string, argument: string | undefined): ((line: string) => boolean) | undefined {
    if (title === "owners") {
      return (line) => readJson(row, line.slice(idLength + 1), (one) => this.#rows.set(line.slice(0, idLength), one));
    }
    if (title === "disputes") return (line) => readJson(dispute, line, (one) => this.#disputes.push(one));
    if (title === "removing" && isList(argument)) return (line) => addEntry(line, this.#removing[argument]);
    if (title === "approved" && isList(argument)) return (line) => addEntry(line, this.#approved[argument]);
    const managed = argument === undefined ? this.#own : this.#otherDomain(argument);
    if (isList(title) && managed) return (line) => this.#readEntry(line, managed.entries[title]);
    if (title !== "origins" || managed === undefined) return undefined;
    return (line) =>
      readJson(origin, line, ({ host, ...one }) => !managed.origins.has(host) && managed.origins.set(host, one));
  }

  #otherDomain(word: string): MutableManaged | undefined {
    const domain = decodeWord(word);
    if (typeof domain !== "string") return undefined;
    const managed = this.#others.get(domain) ?? emptyManaged();
    this.#others.set(domain, managed);
    return managed;
  }

  #readEntry(line: string, into: Map<Entry, OwnedEntry>): boolean {
    const space = line.indexOf(" ");
    const one = decodeEntry(line.slice(0, space));
    const record = this.#rows.get(line.slice(space + 1));
    if (one === undefined || record === undefined || into.has(one)) return false;
    into.set(one, record);
    return true;
  }
}

function emptyManaged(): MutableManaged {
  return { entries: { blocklist: new Map(), allowlist: new Map() }, origins: new Map() };
}

/** @param use returns false if the line is invalid nevertheless */
function readJson<Schema extends z.ZodType>(
  schema: Schema,
  line: string,
  use: (value: z.output<Schema>) => unknown,
): boolean {
  const parsed = schema.safeParse(parseJson(line));
  return parsed.success && use(parsed.data) !== false;
}

function addEntry(line: string, entries: Set<Entry>): boolean {
  const one = decodeEntry(line);
  if (one !== undefined) entries.add(one);
  return one !== undefined;
}

/** Addresses, networks, and opaque entries of the WAF. */
function decodeEntry(word: string | undefined): Entry | undefined {
  const decoded = decodeWord(word);
  return typeof decoded === "string" && isEntry(decoded) ? (decoded as Entry) : undefined;
}

function isEntry(value: string): boolean {
  return isOpaque(value as Entry) || /^[0-9a-f.:/]+$/u.test(value);
}

function isList(name: string | undefined): name is ListName {
  return listNames.some((one) => one === name);
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
