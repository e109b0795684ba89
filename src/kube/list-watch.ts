// Keeps a store equal to all objects of one kind on the API server, whatever happens to the server, the network or the
// kind: the listing and watching half of client-go's Reflector. This file waits, sends requests and applies effects;
// list-watch-step.ts decides. The store may lag behind the server, but a failure never leaves it partial or empty.
import { TextDecoder } from "node:util";
import { type Clock, startDeadline } from "../async/clock.ts";
import { type ApiFault, type ApiServer, messageOf, faultOfStatus, type Query, localFault } from "./api-server.ts";
import { type KubeObject, objectKey, isKubeObject, isRecord } from "./kube-object.ts";
import {
  type ListWatchActivity,
  type ListWatchCommand,
  type ListWatchEffect,
  type ListWatchInput,
  type ListWatchState,
  initialListWatch,
  stepListWatch,
  type StreamInput,
  type WatchEvent,
} from "./list-watch-step.ts";
import { collectionPath, type ResourceType } from "./resource-path.ts";
import type { ObjectChange, ObjectStore, ObjectView } from "./store.ts";
import { listObjects, metadataOfObject } from "./verbs.ts";
import { HttpFault } from "../net/http-connection.ts";

/** The delay after a bug in this program: long enough to avoid a busy loop, short enough to recover soon. */
const restartDelayMs = 30_000;

/** `Unexpected` is a bug, in the code that was passed in or in this file. */
export interface ListWatchProblem {
  readonly code: ApiFault["code"] | "Unexpected";
  readonly message: string;
}

export interface ListWatchHealth {
  readonly activity: ListWatchActivity;
  /** Whether the store has been complete at least once. */
  readonly isSynced: boolean;
  /** Complete lists after the first one. */
  readonly relists: number;
  /** The latest failure; undefined again once the server has confirmed the store. */
  readonly lastFault: ApiFault | undefined;
}

export interface ListWatchOptions<T extends KubeObject> {
  readonly api: ApiServer;
  readonly clock: Clock;
  /** A number of at least 0 and less than 1. */
  readonly random: () => number;
  readonly type: ResourceType;
  /** All namespaces if undefined. */
  readonly namespace?: string | undefined;
  /** Requests only the metadata of the objects. */
  readonly metadataOnly?: boolean;
  /** Only this list-watch may write to it. */
  readonly store: ObjectStore<T>;
  /** Reduces an object before it is stored; must keep name, namespace, uid and resourceVersion of its metadata. */
  readonly transform?: (object: T) => T;
  /** Called after the store has changed. Must return immediately, for example after adding a key to a queue. */
  readonly onChange: (change: ObjectChange<T>) => void;
  /** Must not throw. */
  readonly onProblem?: (problem: ListWatchProblem) => void;
}

export class ListWatch<T extends KubeObject> {
  readonly store: ObjectView<T>;
  readonly #options: ListWatchOptions<T>;
  readonly #synced = Promise.withResolvers<boolean>();
  #state: ListWatchState;
  #lists = 0;
  #lastFault: ApiFault | undefined;

  constructor(options: ListWatchOptions<T>) {
    this.store = options.store;
    this.#options = options;
    this.#state = initialListWatch(options.clock.monotonicMs());
  }

  health(): ListWatchHealth {
    return {
      activity: this.#state.activity,
      isSynced: this.#lists > 0,
      relists: Math.max(0, this.#lists - 1),
      lastFault: this.#lastFault,
    };
  }

  /** True as soon as the store is complete for the first time; false if `run` ends before. */
  async whenSynced(): Promise<boolean> {
    return await this.#synced.promise;
  }

  /** Runs until the signal aborts; never rejects. Call it once. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#follow(signal);
      } catch (error) {
        this.#reportUnexpected(`The list-watch of ${this.#options.type.plural} starts over`, error);
        await this.#options.clock.sleep(restartDelayMs, signal);
      }
    }
    this.#synced.resolve(false);
  }

  async #follow(signal: AbortSignal): Promise<void> {
    this.#state = initialListWatch(this.#options.clock.monotonicMs());
    let command: ListWatchCommand | undefined = { type: "List" };
    while (command !== undefined && !signal.aborted) command = await this.#perform(command, signal);
  }

  /** Undefined only if the signal aborted. */
  async #perform(command: ListWatchCommand, signal: AbortSignal): Promise<ListWatchCommand | undefined> {
    for await (const input of this.#inputsOf(command, signal)) {
      if (signal.aborted) return undefined;
      // The store is now as recent as this line, unless it reports an error.
      if (input.type === "StreamLine") this.#lastFault = undefined;
      const { clock, random } = this.#options;
      const step = stepListWatch(this.#state, input, { nowMs: clock.monotonicMs(), random });
      this.#state = step.state;
      if (step.effect !== undefined) this.#apply(step.effect);
      if (step.command !== undefined) return step.command;
    }
    return undefined;
  }

  async *#inputsOf(command: ListWatchCommand, signal: AbortSignal): AsyncGenerator<ListWatchInput> {
    switch (command.type) {
      case "Wait":
        await this.#options.clock.sleep(command.delayMs, signal);
        return yield { type: "Waited" };
      case "List":
        return yield await this.#list(signal);
      case "Open":
        return yield* this.#openStream(command, signal);
      default:
        return command satisfies never;
    }
  }

  async #list(signal: AbortSignal): Promise<ListWatchInput> {
    const { api, type, namespace, metadataOnly = false } = this.#options;
    const slim = (object: T): T => this.#toStored(object);
    const read = await listObjects<T>(api, type, { namespace, metadataOnly, signal, slim });
    return read.ok ? { type: "Listed", list: read.value } : { type: "ListFailed", fault: read.fault };
  }

  #openStream(
    { position, timeoutSeconds }: Extract<ListWatchCommand, { type: "Open" }>,
    signal: AbortSignal,
  ): AsyncGenerator<ListWatchInput> {
    const { api, clock, type, namespace, metadataOnly } = this.#options;
    const query = { watch: true, allowWatchBookmarks: true, timeoutSeconds, resourceVersion: position };
    const accept = metadataOnly === true ? { accept: metadataOfObject } : {};
    return readWatchStream({ api, clock, path: collectionPath(type, namespace), query, signal, ...accept });
  }

  #apply(effect: ListWatchEffect): void {
    const { store } = this.#options;
    switch (effect.type) {
      case "Report":
        this.#lastFault = effect.fault;
        return this.#options.onProblem?.({ code: effect.fault.code, message: effect.fault.message });
      case "Replace":
        // They were reduced when they were read.
        this.#announce(store.replaceAll(effect.objects as readonly T[], effect.announceAll));
        this.#lists += 1;
        this.#lastFault = undefined;
        return this.#synced.resolve(true);
      case "Put":
        return this.#announce(store.put(this.#toStored(effect.object)));
      case "Remove":
        return this.#announce(store.remove(objectKey(effect.object.metadata)));
    }
  }

  #announce(changes: readonly ObjectChange<T>[]): void {
    for (const change of changes) this.#guarded("handler", () => this.#options.onChange(change));
  }

  /** The server's schema guarantees T. If the transform throws, the object is stored unchanged. */
  #toStored(object: KubeObject): T {
    const { transform } = this.#options;
    return this.#guarded("transform", () => transform?.(object as T)) ?? (object as T);
  }

  /** Runs code of the caller, which must not throw: one bug would otherwise end all watches. */
  #guarded<R>(what: string, act: () => R): R | undefined {
    try {
      return act();
    } catch (error) {
      this.#reportUnexpected(`The ${what} of ${this.#options.type.plural} failed`, error);
      return undefined;
    }
  }

  #reportUnexpected(what: string, error: unknown): void {
    this.#options.onProblem?.({ code: "Unexpected", message: `${what}: ${messageOf(error)}` });
  }
}

// Reads one watch as a sequence of inputs for the list-watch. Any fault ends the sequence with an input that reports it. The
// reader pulls: once it stops, the connection is closed and nothing more of this stream can arrive.

/** Two bookmark intervals of a minute and some slack: a connection that is silent for longer is dead. */
export const silenceMsMax = 150_000;

interface WatchStreamRequest {
  readonly api: ApiServer;
  readonly clock: Clock;
  readonly path: string;
  readonly query: Query;
  readonly accept?: string;
  readonly signal: AbortSignal;
}

async function* readWatchStream({ clock, api, ...wanted }: WatchStreamRequest): AsyncGenerator<StreamInput> {
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
