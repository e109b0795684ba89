// Parses the content of a feed, in its declared format, into entries.
import { isUtf8 } from "node:buffer";
import type { Clock } from "../async/clock.ts";
import { inSlices } from "../async/time-slices.ts";
import type { FeedFormat, JsonFormat } from "../model/declared-feed.ts";
import { parseJson } from "../model/record.ts";
import { inThousands } from "../model/sentence.ts";
import { fail, type FeedReading } from "./content.ts";
import { EntryCollector } from "./entry-collector.ts";
import { readPlain } from "./plain-list.ts";

export interface ReadOptions {
  readonly entriesMax?: number;
  /** Makes the strings of invalid lines safe to show. */
  readonly redact?: (text: string) => string;
  /** Lets other work run in between. */
  readonly clock: Pick<Clock, "monotonicMs" | "sleep">;
}

/** Fails if the content is not in this format. The parser of tables is loaded on demand. */
export async function readFeed(
  body: Buffer,
  format: FeedFormat,
  { entriesMax = Number.POSITIVE_INFINITY, redact, clock }: ReadOptions,
): Promise<FeedReading> {
  const collector = new EntryCollector(entriesMax, redact);
  if (format.type === "Plain") await inSlices(clock, readPlain(body, collector));
  else if (format.type === "Json") readJson(body, format, collector);
  else await (await import("./csv-reader.ts")).readCsv(body, format, collector, clock);
  return collector.reading();
}

/** A document with more values would fill the memory. Counts objects, lists and their values. */
export const valuesMax = 500_000;

/** Adds the selected values to the collector. Fails if the document is not JSON. */
function readJson(body: Buffer, { path }: JsonFormat, collector: EntryCollector): void {
  if (countValues(body) > valuesMax) fail(`The response has more than ${inThousands(valuesMax)} values.`);
  const value = isUtf8(body) ? parseJson(body.toString("utf8").replace(/^\uFEFF/u, "")) : undefined;
  if (value === undefined) fail("The response is not JSON.");
  collect(selected(value, path.replace(/^\$/u, "").match(/\[\*\]|[^.[]+/gu) ?? []), collector);
}

const [quote, comma, backslash, openBracket, openBrace] = Buffer.from('",\\[{');

function countValues(body: Buffer): number {
  let values = 0;
  let isInString = false;
  for (let place = 0; place < body.length; place += 1) {
    const code = body[place];
    if (isInString && code === backslash) place += 1;
    else if (code === quote) isInString = !isInString;
    else if (!isInString && (code === comma || code === openBracket || code === openBrace)) values += 1;
  }
  return values;
}

function collect(values: Iterable<unknown>, collector: EntryCollector): void {
  let place = 0;
  for (const value of values) {
    place += 1;
    if (typeof value === "string") collector.addText(value, place);
    else if (Array.isArray(value)) collector.addInvalid("[…]", "the path selects a list: append [*] to it", place);
    else collector.addInvalid(nameOf(value), "the path selects a value that is not a string", place);
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
