// Parses the content of a feed, in its declared format, into entries.
import type { FeedFormat } from "../../model/declared-feed.ts";
import type { FeedReading } from "../../model/feed.ts";
import { EntryCollector, invalidMax } from "./entry-collector.ts";
import { PlainReader } from "./plain-reader.ts";
import type { ReadFault } from "./read-fault.ts";
import { inThousands } from "../../model/sentence.ts";

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

/** Modules that plain lists do not need are loaded on demand. */
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
      return await (await import("./json-reader.ts")).readJson(chunks, format, collector);
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
