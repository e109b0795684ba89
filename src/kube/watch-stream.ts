// Reads one watch as a sequence of inputs for the list-watch. Any fault ends the sequence with an input that reports it. The
// reader pulls: once it stops, the connection is closed and nothing more of this stream can arrive.
import { TextDecoder, types } from "node:util";
import type { Clock } from "../async/clock.ts";
import { faultOfStatus } from "./api-fault.ts";
import { localFault, type ApiFault } from "./api-result.ts";
import type { ApiServer, ApiStream, Query } from "./api-server.ts";
import { isKubeObject, isRecord } from "./kube-object.ts";
import type { StreamInput, WatchEvent } from "./list-watch-step.ts";

/** Two bookmark intervals of a minute and some slack: a connection that is silent for longer is dead. */
export const silenceMsMax = 150_000;
const initialEventsEnd = "k8s.io/initial-events-end";

export interface WatchStreamRequest {
  readonly api: ApiServer;
  readonly clock: Clock;
  readonly path: string;
  readonly query: Query;
  readonly accept?: string;
  readonly signal: AbortSignal;
}

export async function* readWatchStream(request: WatchStreamRequest): AsyncGenerator<StreamInput> {
  const { api, clock, ...wanted } = request;
  const stream = await api.openStream(wanted);
  if (!stream.ok) {
    yield { type: "StreamFailed", fault: stream.fault };
    return;
  }
  const watchdog = createWatchdog(clock, () => stream.value.close());
  try {
    yield { type: "StreamOpened" };
    yield* readLines(stream.value, watchdog);
  } finally {
    watchdog.stop();
    stream.value.close();
  }
}

async function* readLines({ chunks }: ApiStream, watchdog: Watchdog): AsyncGenerator<StreamInput> {
  const reader = createNdjsonReader();
  try {
    for await (const chunk of chunks) {
      watchdog.feed();
      const { values, fault } = reader.push(chunk);
      for (const value of values) yield inputOf(value);
      if (fault !== undefined) return yield failed(brokenLine(fault));
    }
  } catch (error) {
    return yield watchdog.hasFired() ? { type: "StreamSilent" } : failed(lost(error));
  }
  const { fault } = reader.finish();
  return yield fault === undefined ? { type: "StreamEnded" } : failed(brokenLine(fault));
}

function inputOf(line: unknown): StreamInput {
  const event = watchEventOf(line);
  return event === undefined ? failed(notAnEvent) : { type: "StreamLine", event };
}

const notAnEvent = localFault("ContractBroken", "A line of the watch is not a watch event");

/** Undefined if the line is not a documented watch event. */
export function watchEventOf(line: unknown): WatchEvent | undefined {
  if (!isRecord(line)) return undefined;
  const { type, object } = line;
  if (type === "ERROR") return { type, fault: faultOfStatus(object) };
  if (type === "BOOKMARK") return bookmarkOf(object);
  const isChange = type === "ADDED" || type === "MODIFIED" || type === "DELETED";
  return isChange && isKubeObject(object) ? { type, object } : undefined;
}

function bookmarkOf(object: unknown): WatchEvent | undefined {
  if (!isRecord(object) || !isRecord(object["metadata"])) return undefined;
  const { resourceVersion, annotations } = object["metadata"];
  if (typeof resourceVersion !== "string" || resourceVersion === "") return undefined;
  const endsInitialEvents = isRecord(annotations) && annotations[initialEventsEnd] === "true";
  return { type: "BOOKMARK", resourceVersion, endsInitialEvents };
}

function failed(fault: ApiFault): StreamInput {
  return { type: "StreamFailed", fault };
}

function brokenLine(code: NdjsonFaultCode): ApiFault {
  return localFault("ContractBroken", `The watch sent a line that can't be read: ${code}`);
}

function lost(error: unknown): ApiFault {
  const message = types.isNativeError(error) ? error.message : "unknown error";
  return localFault("Unavailable", `The connection of the watch was lost: ${message}`.slice(0, 500));
}

interface Watchdog {
  feed(): void;
  hasFired(): boolean;
  stop(): void;
}

/** Uses one timer for the whole stream, not one per chunk: when it fires, the last chunk may be too long ago. */
function createWatchdog(clock: Clock, bite: () => void): Watchdog {
  const stopped = new AbortController();
  let fedAtMs = clock.monotonicMs();
  let fired = false;

  async function guard(): Promise<void> {
    while (!stopped.signal.aborted) {
      const leftMs = fedAtMs + silenceMsMax - clock.monotonicMs();
      if (leftMs <= 0) {
        fired = true;
        bite();
        return;
      }
      await clock.sleep(Math.ceil(leftMs), stopped.signal);
    }
  }
  void guard();

  return {
    feed: () => void (fedAtMs = clock.monotonicMs()),
    hasFired: () => fired,
    stop: () => stopped.abort(),
  };
}

/**
 * Reads one JSON value per line from a stream of bytes. Lines are split at the byte level, so a character that is divided
 * between two chunks stays intact. A malformed line is a fault and never skipped: its content would be lost.
 */
export const lineBytesMaxDefault = 8 * 1024 * 1024;

export const ndjsonFaultCodes = ["LineTooLong", "BadEncoding", "BadJson", "PartialLine"] as const;
export type NdjsonFaultCode = (typeof ndjsonFaultCodes)[number];

export interface NdjsonBatch {
  /** The values of the lines that this chunk completed, in order, up to the fault, if any. */
  readonly values: readonly unknown[];
  /** After a fault the reader cannot be used any longer. */
  readonly fault?: NdjsonFaultCode;
}

export interface NdjsonReader {
  /** Takes the next bytes. */
  push(chunk: Uint8Array): NdjsonBatch;
  /** Whether the stream ended at the end of a line. */
  finish(): NdjsonBatch;
}

const newline = 0x0a;

/** Holds at most `lineBytesMax` bytes and the current chunk. Ignores empty lines. */
export function createNdjsonReader(lineBytesMax = lineBytesMaxDefault): NdjsonReader {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let parts: Uint8Array[] = [];
  let partialBytes = 0;

  function hold(part: Uint8Array): boolean {
    partialBytes += part.length;
    if (partialBytes > lineBytesMax) return false;
    if (part.length > 0) parts.push(part);
    return true;
  }

  function takeLine(): Uint8Array {
    const [first] = parts;
    const line = parts.length === 1 && first !== undefined ? first : Buffer.concat(parts);
    parts = [];
    partialBytes = 0;
    return line;
  }

  function push(chunk: Uint8Array): NdjsonBatch {
    const values: unknown[] = [];
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      if (!hold(chunk.subarray(start, end))) return { values, fault: "LineTooLong" };
      const fault = parseInto(values, takeLine(), decoder);
      if (fault !== undefined) return { values, fault };
      start = end + 1;
    }
    return hold(chunk.subarray(start)) ? { values } : { values, fault: "LineTooLong" };
  }

  return { push, finish: () => (partialBytes === 0 ? { values: [] } : { values: [], fault: "PartialLine" }) };
}

function parseInto(values: unknown[], line: Uint8Array, decoder: TextDecoder): NdjsonFaultCode | undefined {
  let text: string;
  try {
    text = decoder.decode(line);
  } catch {
    return "BadEncoding";
  }
  if (text.trim() === "") return undefined;
  try {
    values.push(JSON.parse(text));
    return undefined;
  } catch {
    return "BadJson";
  }
}
