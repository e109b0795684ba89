// Reads one watch as a sequence of inputs for the list-watch. Any fault ends the sequence with an input that reports it. The
// reader pulls: once it stops, the connection is closed and nothing more of this stream can arrive.
import { TextDecoder } from "node:util";
import { type Clock, startDeadline } from "../async/clock.ts";
import { HttpFault } from "../net/http-connection.ts";
import { faultOfStatus, type ApiServer, type Query, localFault, type ApiFault } from "./api-server.ts";
import { isKubeObject, isRecord } from "./kube-object.ts";
import type { StreamInput, WatchEvent } from "./list-watch-step.ts";

/** Two bookmark intervals of a minute and some slack: a connection that is silent for longer is dead. */
export const silenceMsMax = 150_000;

export interface WatchStreamRequest {
  readonly api: ApiServer;
  readonly clock: Clock;
  readonly path: string;
  readonly query: Query;
  readonly accept?: string;
  readonly signal: AbortSignal;
}

export async function* readWatchStream({ clock, api, ...wanted }: WatchStreamRequest): AsyncGenerator<StreamInput> {
  const stream = await api.openStream(wanted);
  if (!stream.ok) return yield failed(stream.fault);
  const { chunks } = stream.value;
  const silence = startDeadline({ clock, timeoutMs: silenceMsMax });
  silence.signal.addEventListener("abort", () => stream.value.close(), { once: true });
  async function* heard(): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      silence.restart();
      yield chunk;
    }
  }
  try {
    yield { type: "StreamOpened" };
    for await (const line of readJsonLines(heard())) yield inputOf(line);
    yield { type: "StreamEnded" };
  } catch (error) {
    yield silence.signal.aborted ? { type: "StreamSilent" } : failed(faultOf(error));
  } finally {
    silence.end();
  }
}

function inputOf(line: unknown): StreamInput {
  const event = watchEventOf(line);
  return event === undefined ? failed(unreadable) : { type: "StreamLine", event };
}

/** It is never skipped, because its content would be lost. */
const unreadable = localFault("ContractBroken", "The watch sent a line that can't be read");

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
  const { resourceVersion } = object["metadata"];
  if (typeof resourceVersion !== "string" || resourceVersion === "") return undefined;
  return { type: "BOOKMARK", resourceVersion };
}

function failed(fault: ApiFault): StreamInput {
  return { type: "StreamFailed", fault };
}

function faultOf(error: unknown): ApiFault {
  if (!(error instanceof HttpFault)) return unreadable;
  return localFault("Unavailable", `The connection of the watch was lost: ${error.message}`.slice(0, 500));
}

/** In characters. */
export const lineLengthMax = 8 * 1024 * 1024;

/** Reads one JSON value per line. Ignores empty lines. Throws for a line that can't be read, is too long or is incomplete. */
export async function* readJsonLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let rest = "";
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > lineLengthMax) throw new RangeError("A line is too long");
    for (const line of lines) if (line.trim() !== "") yield JSON.parse(line) as unknown;
  }
  if (rest !== "") throw new RangeError("The last line is incomplete");
}
