// The position and the results of reading the logs of an instance, in a record store. Reading starts again without a valid record.
import * as z from "zod";
import type { Entry } from "../address/entry.ts";
import type { ObjectName } from "../model/resource.ts";
import type { RecordKey, RecordStore } from "../records/record-store.ts";

const text = z.string();
const whole = z.int().min(0);
const number = z.number();

/** Labels of reasons and their requests. */
const reasons = z.array(z.tuple([text, number]));

const cursor = z.strictObject({
  seed: z.strictObject({ low: whole, high: whole }),
  firstDay: whole,
  nextDay: whole,
  newestDay: whole,
  days: z.array(z.strictObject({ day: whole, total: whole.exactOptional(), forwarded: text, judged: text })),
});
const listed = z.strictObject({
  entry: text.transform((entry) => entry as Entry),
  sinceMs: number,
  untilMs: number,
  /** How often it reached the threshold, this time included: 1 for the first time. */
  times: number,
  /** Matching requests, those after `sinceMs` included. */
  requests: number,
  firstMs: number,
  lastMs: number,
  reasons,
});
/** The counted requests of one client. */
const counted = z.strictObject({
  /** Steps with requests, ascending, and their requests. */
  steps: z.array(z.tuple([whole, number])),
  reasons,
  /** For a network: addresses and the step of their last request, the latest ones last. */
  sources: z.array(z.tuple([text, number])),
  firstMs: number,
  lastMs: number,
});
const judge = z.strictObject({
  shape: text,
  listed: z.array(listed),
  /** When former entries ended, and how often the client had been listed until then. */
  former: z.array(z.tuple([text, z.strictObject({ untilMs: number, times: number })])),
  counts: z.array(z.tuple([text, counted])),
  /** Rows that `match` selects. Of these, those too old when they were read, and those without a valid address or time. */
  rows: z.strictObject({ matched: number, late: number, unreadable: number }),
  /** How many clients reached the threshold without being listed, because `maxEntries` was reached. */
  leftOut: number,
  /** The time of the newest matching row. */
  lastRowMs: number.exactOptional(),
});
const format = z.strictObject({
  format: z.literal(1),
  cursor,
  forwarded: whole,
  lastEntryMs: number.exactOptional(),
  judges: z.record(text, judge),
});
/** The cursor, the figures of the status, and the judgements for WafAutoBlocks from all rows that the cursor includes. */
export type LogRecord = Readonly<Omit<z.output<typeof format>, "format">>;
/** A cursor as JSON, with encoded tallies. */
export type SavedLogCursor = z.output<typeof cursor>;
/** The state of a judge as JSON. */
export type SavedJudge = z.output<typeof judge>;

/** At about eleven characters per row, this is enough for more than a million rows. */
export const logTextLengthMax = 12 * 1024 * 1024;

/** `record` is undefined if there is none, and null if it is damaged. */
export type LoadedLogRecord =
  | { readonly state: "Loaded"; readonly record: LogRecord | undefined | null; readonly revision: string }
  | { readonly state: "Unreachable"; readonly problem: string };

/** `Conflict`: another writer saved since `revision`. `TooLarge`: the record is too large to store. */
export type SavedLogRecord =
  | { readonly state: "Saved"; readonly revision: string }
  | { readonly state: "TooLarge" }
  | { readonly state: "Conflict" | "Failed"; readonly problem: string };

export type LogRecordPort = Pick<LogRecords, "load" | "save">;

/** Neither method ever rejects. */
export class LogRecords {
  readonly #store: RecordStore;

  constructor(store: RecordStore) {
    this.#store = store;
  }

  /** Reading starts again with the days of the lookback if the record is damaged. */
  async load(instance: ObjectName): Promise<LoadedLogRecord> {
    const stored = await this.#store.load(keyOf(instance));
    if (stored.state === "Unreachable") return stored;
    const { revision } = stored;
    if (stored.state === "Absent") return { state: "Loaded", record: undefined, revision };
    return { state: "Loaded", record: stored.state === "Damaged" ? null : decode(stored.text), revision };
  }

  /** Stored as a whole or not at all. */
  async save(instance: ObjectName, record: LogRecord, revision: string): Promise<SavedLogRecord> {
    // One day or client per line, so that a change of one leaves the parts with others unchanged. Line breaks in strings are escaped.
    const text = `${JSON.stringify({ format: 1, ...record }, undefined, 1).replaceAll(/\n {5,}/g, "")}\n`;
    if (text.length > logTextLengthMax) return { state: "TooLarge" };
    const saved = await this.#store.save(keyOf(instance), text, revision);
    return saved.state === "NotAllowed" ? { state: "Failed", problem: saved.problem } : saved;
  }
}

function keyOf({ namespace, name }: ObjectName): RecordKey {
  return { type: "LogForwarding", namespace, name };
}

/** Null if it is damaged, or of a newer version. */
function decode(stored: string): LogRecord | null {
  try {
    const { format: _, ...record } = format.parse(JSON.parse(stored));
    return record;
  } catch {
    return null;
  }
}
