// Parses the content of a feed, in its declared format, into entries.
import { isUtf8 } from "node:buffer";
import type { FeedFormat, JsonFormat } from "../model/declared-feed.ts";
import { inThousands } from "../model/sentence.ts";
import type { FeedReading } from "./content.ts";
import { EntryCollector, invalidMax, type ReadFault } from "./entry-collector.ts";
import { PlainReader } from "./plain-list.ts";

/** The absolute maximum number of entries, whatever a feed allows. */
export const entriesMax = 1_000_000;

export type ReadFeed =
  | { readonly ok: true; readonly reading: FeedReading }
  | { readonly ok: false; readonly fault: ReadFault };

export interface ReadOptions {
  readonly entriesMax?: number;
  /** Makes the strings of invalid lines safe to show. */
  readonly redact?: (text: string) => string;
}

/** Rejects only if reading the chunks fails. */
export async function readFeed(
  chunks: AsyncIterable<Buffer>,
  format: FeedFormat,
  options: ReadOptions = {},
): Promise<ReadFeed> {
  const limit = Math.min(options.entriesMax ?? entriesMax, entriesMax);
  const collector = new EntryCollector(limit, options.redact);
  const fault = await readInto(collector, chunks, format);
  if (fault !== undefined) return { ok: false, fault };
  if (collector.hasTooManyInvalid) return { ok: false, fault: tooManyInvalid };
  if (collector.isFull) return { ok: false, fault: tooMany(limit) };
  return { ok: true, reading: collector.reading() };
}

/** The parser of tables is loaded on demand. */
async function readInto(
  collector: EntryCollector,
  chunks: AsyncIterable<Buffer>,
  format: FeedFormat,
): Promise<ReadFault | undefined> {
  switch (format.type) {
    case "Plain":
      return await readPlain(chunks, collector);
    case "Csv":
      return await (await import("./csv-reader.ts")).readCsv(chunks, format, collector);
    case "Json":
      return await readJson(chunks, format, collector);
  }
}

async function readPlain(chunks: AsyncIterable<Buffer>, collector: EntryCollector): Promise<undefined> {
  const reader = new PlainReader(collector);
  for await (const chunk of chunks) {
    reader.write(chunk);
    if (collector.isFull) return;
  }
  reader.end();
}

const tooManyInvalid: ReadFault = {
  code: "NotInFormat",
  message: `The feed has more than ${inThousands(invalidMax)} lines that are not valid entries.`,
};

function tooMany(limit: number): ReadFault {
  return { code: "TooManyEntries", message: `The feed has more than ${inThousands(limit)} entries.` };
}

/** Adds the selected values to the collector. Returns a fault if the document is not JSON. */
export async function readJson(
  chunks: AsyncIterable<Buffer>,
  { path }: JsonFormat,
  collector: EntryCollector,
): Promise<ReadFault | undefined> {
  const limits = new JsonLimits();
  const kept: Buffer[] = [];
  for await (const chunk of chunks) {
    const excess = limits.write(chunk);
    if (excess !== undefined) return fault(`The response ${excess}`);
    kept.push(chunk);
  }
  const parsed = parseJson(Buffer.concat(kept));
  if (!parsed.ok) return fault("The response is not JSON");
  collect(selected(parsed.value, path.replace(/^\$/u, "").match(/\[\*\]|[^.[]+/gu) ?? []), collector);
  return undefined;
}

function collect(values: Iterable<unknown>, collector: EntryCollector): void {
  let place = 0;
  for (const value of values) {
    place += 1;
    if (typeof value === "string") collector.addText(value, place);
    else if (Array.isArray(value)) collector.addInvalid("[…]", "the path selects a list: append [*] to it", place);
    else collector.addInvalid(nameOf(value), "the path selects a value that is not a string", place);
    if (collector.isFull) return;
  }
}

/** The values at the end of the path, in their order. Values without a member of the name are skipped. */
function* selected(value: unknown, [step, ...rest]: readonly string[]): Generator {
  if (step === undefined) yield value;
  else if (typeof value !== "object" || value === null) return;
  else if (step === "[*]") for (const each of Object.values(value)) yield* selected(each, rest);
  else if (!Array.isArray(value) && Object.hasOwn(value, step)) {
    yield* selected((value as Record<string, unknown>)[step], rest);
  }
}

function nameOf(value: unknown): string {
  return typeof value === "object" && value !== null ? "{…}" : JSON.stringify(value);
}

function parseJson(bytes: Buffer): { readonly ok: true; readonly value: unknown } | { readonly ok: false } {
  if (!isUtf8(bytes)) return { ok: false };
  try {
    return { ok: true, value: JSON.parse(bytes.toString("utf8").replace(/^\uFEFF/u, "")) as unknown };
  } catch {
    return { ok: false };
  }
}

function fault(message: string): ReadFault {
  return { code: "NotInFormat", message: `${message}.` };
}

export const nestingMax = 32;
/** Counts objects, lists and their values. */
export const valuesMax = 500_000;

const quote = 34;
const comma = 44;
const backslash = 92;
const openBracket = 91;
const closeBracket = 93;
const openBrace = 123;
const closeBrace = 125;

export class JsonLimits {
  #depth = 0;
  #values = 0;
  #inString = false;
  #isEscaped = false;

  /** The exceeded limit, as the predicate of a sentence; undefined if there is none. */
  write(chunk: Uint8Array): string | undefined {
    for (const code of chunk) {
      if (this.#inString) this.#readInString(code);
      else if (code === quote) this.#inString = true;
      else if (code === openBracket || code === openBrace) {
        this.#depth += 1;
        this.#values += 1;
        if (this.#depth > nestingMax) return `is nested more than ${nestingMax} levels deep`;
      } else if (code === closeBracket || code === closeBrace) this.#depth -= 1;
      else if (code === comma) this.#values += 1;
      if (this.#values > valuesMax) return `has more than ${inThousands(valuesMax)} values`;
    }
    return undefined;
  }

  #readInString(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (code === backslash) this.#isEscaped = true;
    else if (code === quote) this.#inString = false;
  }
}
