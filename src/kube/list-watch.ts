// Keeps a store equal to all objects of one kind on the API server, for as long as it runs and whatever happens to the
// server, the network or the kind. This is the shell: list-watch-step.ts decides, this file waits, calls and applies.
// The store and the announcements lag behind the server, but are never partial and never empty because of a failure.
import type { Clock } from "../async/clock.ts";
import type { ApiFault } from "./api-result.ts";
import type { ApiServer } from "./api-server.ts";
import type { KubeObject } from "./kube-object.ts";
import type {
  ListWatchActivity,
  ListWatchCommand,
  ListWatchEffect,
  ListWatchInput,
  ListWatchState,
  ListWatchStep,
} from "./list-watch-state.ts";
import { beginListWatch, stepListWatch } from "./list-watch-step.ts";
import { createMirror, type Mirror, type ObjectChange } from "./reflector.ts";
import { collectionPath, type ResourceType } from "./resource-path.ts";
import type { ObjectStore, ObjectView } from "./store.ts";
import { listPage } from "./verbs.ts";
import { readWatchStream } from "./watch-stream.ts";

/** After a defect of our own: long enough not to spin, short enough to be back soon. */
const restartDelayMs = 30_000;

/** `HandlerThrew`, `TransformThrew`, `Unexpected`: a defect in the code that was passed in, or here. */
export interface ListWatchProblem {
  readonly code: ApiFault["code"] | "HandlerThrew" | "TransformThrew" | "Unexpected";
  readonly message: string;
  readonly fault?: ApiFault;
  readonly error?: unknown;
}

export interface ListWatchHealth {
  readonly activity: ListWatchActivity;
  /** Whether the store was complete at least once. */
  readonly isSynced: boolean;
  /** Complete lists after the first one. */
  readonly relists: number;
  /** The latest failure; undefined again once the server has confirmed the store. */
  readonly lastFault: ApiFault | undefined;
}

export interface ListWatchOptions<T extends KubeObject> {
  readonly api: ApiServer;
  readonly clock: Clock;
  /** A number from 0 to below 1. */
  readonly random: () => number;
  readonly type: ResourceType;
  /** All namespaces if undefined. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  /** Is written by this list-watch and by nobody else. */
  readonly store: ObjectStore<T>;
  /** Makes an object smaller before it is stored; must keep its metadata's name, namespace, uid and resourceVersion. */
  readonly transform?: (object: T) => T;
  /** Called after the store has changed; must only take note, for example put a key into a queue. */
  readonly onChange: (change: ObjectChange<T>) => void;
  readonly onProblem?: (problem: ListWatchProblem) => void;
}

export interface ListWatch<T> {
  readonly store: ObjectView<T>;
  /** Runs until the signal aborts; never rejects. To be called once. */
  run(signal: AbortSignal): Promise<void>;
  /** True as soon as the store is complete for the first time; false if the signal aborts before. */
  whenSynced(signal?: AbortSignal): Promise<boolean>;
  health(): ListWatchHealth;
}

export function createListWatch<T extends KubeObject>(options: ListWatchOptions<T>): ListWatch<T> {
  const watcher = new Watcher(options);
  return {
    store: options.store,
    run: (signal) => watcher.run(signal),
    whenSynced: (signal) => watcher.whenSynced(signal),
    health: () => watcher.health(),
  };
}

class Watcher<T extends KubeObject> {
  readonly #options: ListWatchOptions<T>;
  readonly #mirror: Mirror<T>;
  readonly #synced = Promise.withResolvers<true>();
  #state: ListWatchState | undefined;
  #lists = 0;
  #lastFault: ApiFault | undefined;

  constructor(options: ListWatchOptions<T>) {
    this.#options = options;
    this.#mirror = createMirror(options.store, (change) => this.#announce(change));
  }

  health(): ListWatchHealth {
    return {
      activity: this.#state?.activity ?? "Listing",
      isSynced: this.#lists > 0,
      relists: Math.max(0, this.#lists - 1),
      lastFault: this.#lastFault,
    };
  }

  async whenSynced(signal?: AbortSignal): Promise<boolean> {
    if (signal === undefined) return this.#synced.promise;
    const stopped = Promise.withResolvers<boolean>();
    const stop = (): void => stopped.resolve(false);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    try {
      return await Promise.race([this.#synced.promise, stopped.promise]);
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#follow(signal);
      } catch (error) {
        const message = `The list-watch of ${this.#options.type.plural} starts over`;
        this.#report({ code: "Unexpected", message, error });
        await this.#options.clock.sleep(restartDelayMs, signal);
      }
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    let command = this.#take(beginListWatch(this.#context()));
    while (command !== undefined && !signal.aborted) command = await this.#perform(command, signal);
  }

  /** Undefined only if the signal aborted. */
  async #perform(command: ListWatchCommand, signal: AbortSignal): Promise<ListWatchCommand | undefined> {
    for await (const input of this.#inputsOf(command, signal)) {
      if (signal.aborted || this.#state === undefined) return undefined;
      const next = this.#take(stepListWatch(this.#state, input, this.#context()));
      if (input.type === "StreamLine") this.#confirm();
      if (next !== undefined) return next;
    }
    return undefined;
  }

  async *#inputsOf(command: ListWatchCommand, signal: AbortSignal): AsyncGenerator<ListWatchInput> {
    switch (command.type) {
      case "Wait":
        await this.#options.clock.sleep(command.delayMs, signal);
        return yield { type: "Waited" };
      case "FetchPage":
        return yield await this.#fetchPage(command, signal);
      case "OpenWatch":
        return yield* this.#openStream(command, { resourceVersion: command.resourceVersion }, signal);
      case "OpenWatchList":
        return yield* this.#openStream(command, watchListQuery, signal);
      default:
        return command satisfies never;
    }
  }

  async #fetchPage(
    command: Extract<ListWatchCommand, { type: "FetchPage" }>,
    signal: AbortSignal,
  ): Promise<ListWatchInput> {
    const { api, type } = this.#options;
    const { continueToken, limit } = command;
    const page = await listPage<T>(api, type, { ...this.#scope(), continueToken, limit, signal });
    if (!page.ok) return { type: "PageFailed", fault: page.fault };
    const { items, resourceVersion, continueToken: next } = page.value;
    return { type: "PageRead", objects: items, resourceVersion, continueToken: next };
  }

  #openStream(
    { timeoutSeconds }: { readonly timeoutSeconds: number },
    position: { readonly resourceVersion?: string; readonly sendInitialEvents?: boolean },
    signal: AbortSignal,
  ): AsyncGenerator<ListWatchInput> {
    const { api, clock, type } = this.#options;
    const { namespace, ...selectors } = this.#scope();
    const query = { watch: true, allowWatchBookmarks: true, timeoutSeconds, ...position, ...selectors };
    return readWatchStream({ api, clock, path: collectionPath(type, namespace), query, signal });
  }

  #scope(): { readonly namespace?: string; readonly labelSelector?: string } {
    const { namespace, labelSelector } = this.#options;
    return {
      ...(namespace === undefined ? {} : { namespace }),
      ...(labelSelector === undefined ? {} : { labelSelector }),
    };
  }

  #context(): { readonly nowMs: number; readonly random: () => number } {
    return { nowMs: this.#options.clock.monotonicMs(), random: this.#options.random };
  }

  #take(step: ListWatchStep): ListWatchCommand | undefined {
    this.#state = step.state;
    for (const effect of step.effects) this.#apply(effect);
    return step.command;
  }

  #apply(effect: ListWatchEffect): void {
    switch (effect.type) {
      case "StartCollecting":
        return this.#mirror.startCollecting();
      case "Collect":
        return this.#mirror.collect(effect.objects.map((object) => this.#transformed(object)));
      case "Uncollect":
        return this.#mirror.uncollect(effect.object as T);
      case "Swap":
        return this.#swap(effect.announceAll);
      case "Deliver":
        return this.#deliver(effect);
      case "Report":
        this.#lastFault = effect.fault;
        return this.#report({ code: effect.fault.code, message: effect.fault.message, fault: effect.fault });
      default:
        return effect satisfies never;
    }
  }

  #swap(announceAll: boolean): void {
    this.#mirror.swap(announceAll);
    this.#lists += 1;
    this.#confirm();
    this.#synced.resolve(true);
  }

  #deliver({ change, object }: Extract<ListWatchEffect, { type: "Deliver" }>): void {
    const transformed = this.#transformed(object);
    if (change === "Put") this.#mirror.put(transformed);
    else this.#mirror.remove(transformed);
  }

  /** The server has just told us something while we were watching: the store is as new as that. */
  #confirm(): void {
    if (this.#state?.activity !== "Watching") return;
    this.#lastFault = undefined;
  }

  /** The schema of the server vouches for T. An object that the transform can't take is stored as it came. */
  #transformed(object: KubeObject): T {
    const original = object as T;
    try {
      return this.#options.transform?.(original) ?? original;
    } catch (error) {
      this.#report({ code: "TransformThrew", message: `The transform of ${this.#options.type.plural} failed`, error });
      return original;
    }
  }

  #announce(change: ObjectChange<T>): void {
    try {
      this.#options.onChange(change);
    } catch (error) {
      this.#report({ code: "HandlerThrew", message: `The handler of ${this.#options.type.plural} failed`, error });
    }
  }

  #report(problem: ListWatchProblem): void {
    try {
      this.#options.onProblem?.(problem);
    } catch {
      // Whoever listens to problems has one of its own; there is nobody left to tell, and the watch must go on.
    }
  }
}

/** Everything there is as of now, then a bookmark that says so, then the changes: one consistent read as a stream. */
const watchListQuery = { sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" } as const;
