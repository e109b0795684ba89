// Reads one watch as a sequence of inputs for the list-watch. Any fault ends the sequence with an input that reports it. The
// reader pulls: once it stops, the connection is closed and nothing more of this stream can arrive.
import { types } from "node:util";
import type { Clock } from "../async/clock.ts";
import { faultOfStatus } from "./api-fault.ts";
import { localFault, type ApiFault } from "./api-result.ts";
import type { ApiServer, ApiStream, Query } from "./api-server.ts";
import { isKubeObject, isRecord } from "./kube-object.ts";
import type { StreamInput, WatchEvent } from "./list-watch-state.ts";
import { createNdjsonReader, type NdjsonFaultCode } from "./ndjson.ts";

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
