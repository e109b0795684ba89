// Keeps a store equal to all objects of one kind on the API server, whatever happens to the server, the network or the
// kind: the listing and watching half of client-go's Reflector. This file waits, sends requests and applies effects;
// list-watch-step.ts decides. The store may lag behind the server, but a failure never leaves it partial or empty.
import type { Clock } from "../async/clock.ts";
import { type ApiFault, type ApiServer, messageOf } from "./api-server.ts";
import { type KubeObject, objectKey } from "./kube-object.ts";
import type {
  ListWatchActivity,
  ListWatchCommand,
  ListWatchEffect,
  ListWatchInput,
  ListWatchState,
} from "./list-watch-step.ts";
import { initialListWatch, stepListWatch } from "./list-watch-step.ts";
import { collectionPath, type ResourceType } from "./resource-path.ts";
import type { ObjectChange, ObjectStore, ObjectView } from "./store.ts";
import { listObjects, metadataOfObject } from "./verbs.ts";
import { readWatchStream } from "./watch-stream.ts";

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
