// Desired state from a directory of files: the last snapshot, what belongs to an instance, and a watch that keeps it new.
// One pass runs at a time. A snapshot is replaced as a whole and never changed, so a reader needs no lock.
import { resolve } from "node:path";
import type { Clock } from "../../async/clock.ts";
import type { ConfirmedGathering, Gathered } from "../../model/gathered.ts";
import { nameKey } from "../../model/resource.ts";
import type { ObjectName } from "../../model/resource.ts";
import { gatherInstance, unattachedOf } from "./gather.ts";
import type { Unattached } from "./gather.ts";
import { isPassing, readDirectory } from "./read-directory.ts";
import type { FileCache } from "./read-directory.ts";
import { emptySnapshot } from "./snapshot.ts";
import type { DirectorySnapshot } from "./snapshot.ts";
import { faultText } from "./source-fault.ts";
import type { SourceFault } from "./source-fault.ts";

/** A pass that met a file on the move is repeated at once, this many times. */
const passesMax = 8;
const passDelayMs = 50;
/** How long nothing may have changed before what is missing counts as removed. */
const quietMsDefault = 150;

/** Log messages are constant, values are fields. */
export interface SourceLogger {
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
}

export interface DirectorySourceOptions {
  readonly directory: string;
  /** Left out of the directory if it lies below it. */
  readonly stateDirectory: string | undefined;
  /** The API key of instances whose Secret is not in the directory. */
  readonly environmentKey: string | undefined;
  readonly clock: Clock;
  readonly logger?: SourceLogger;
  readonly debounceMs?: number;
  readonly quietMs?: number;
  readonly rescanIntervalMs?: number;
}

export interface DirectorySource {
  /**
   * Reads the directory again, and waits a moment for a file that is on the move. Never rejects: what cannot be read is a
   * fault of the snapshot.
   */
  load(): Promise<DirectorySnapshot>;
  /** The last one; empty before the first `load`. */
  snapshot(): DirectorySnapshot;
  /** Grows whenever a load found something that means something else than before. */
  version(): number;
  /** Every declared instance, ordered by name. */
  instances(): ObjectName[];
  /** All that belongs to the instance, as last read; the same object as long as the version is the same. */
  gather(instance: ObjectName): Promise<Gathered | undefined>;
  /** The same after reading the directory again. */
  confirm(instance: ObjectName): Promise<ConfirmedGathering>;
  /** What refers to an instance that is not declared. */
  unattached(): Unattached[];
  faults(): readonly SourceFault[];
  /**
   * Loads whenever files change, and calls back when that changed what the snapshot means. Resolves when it watches; ends
   * when the signal aborts or the source is closed.
   */
  watch(onChange: (snapshot: DirectorySnapshot) => void, signal: AbortSignal): Promise<void>;
  /** Ends all watching. */
  close(): Promise<void>;
}

export function createDirectorySource(options: DirectorySourceOptions): DirectorySource {
  return new WatchedDirectory(options);
}

class WatchedDirectory implements DirectorySource {
  readonly #options: DirectorySourceOptions;
  readonly #directory: string;
  readonly #skip: readonly string[];
  readonly #cache: FileCache = new Map();
  readonly #closing = new AbortController();
  readonly #watching = new Set<Promise<void>>();
  readonly #gathered = new Map<string, Gathered | undefined>();
  #snapshot: DirectorySnapshot = emptySnapshot;
  #version = 0;
  #lastLoad: Promise<unknown> = Promise.resolve();

  constructor(options: DirectorySourceOptions) {
    this.#options = options;
    this.#directory = resolve(options.directory);
    this.#skip = options.stateDirectory === undefined ? [] : [resolve(options.stateDirectory)];
  }

  async load(): Promise<DirectorySnapshot> {
    return await this.#inTurn(async () => await this.#settle());
  }

  snapshot(): DirectorySnapshot {
    return this.#snapshot;
  }

  version(): number {
    return this.#version;
  }

  instances(): ObjectName[] {
    const metas = [...this.#snapshot.instances.values()].map(({ meta }) => meta);
    return metas
      .map(({ namespace, name }) => ({ namespace, name }))
      .sort((left, right) => (nameKey(left) < nameKey(right) ? -1 : 1));
  }

  async gather(instance: ObjectName): Promise<Gathered | undefined> {
    const key = nameKey(instance);
    const known = this.#gathered.get(key);
    if (known !== undefined) return known;
    const gathered = gatherInstance(this.#snapshot, instance, this.#options.environmentKey);
    this.#gathered.set(key, gathered);
    return gathered;
  }

  async confirm(instance: ObjectName): Promise<ConfirmedGathering> {
    const { faults } = await this.load();
    const whole = faults.find(({ file, holds }) => file === "." && holds === "Everything");
    if (whole !== undefined) return { state: "Failed", problem: faultText(whole) };
    return { state: "Read", gathered: await this.gather(instance) };
  }

  unattached(): Unattached[] {
    return unattachedOf(this.#snapshot);
  }

  faults(): readonly SourceFault[] {
    return this.#snapshot.faults;
  }

  async watch(onChange: (snapshot: DirectorySnapshot) => void, signal: AbortSignal): Promise<void> {
    const { clock, logger, debounceMs = 1, rescanIntervalMs = 30_000 } = this.#options;
    const stop = AbortSignal.any([signal, this.#closing.signal]);
    let seen = this.#version;
    // `wafsync plan` never watches, so it does not load what watching needs.
    const { watchDirectory } = await import("./watch-directory.ts");
    if (stop.aborted) return;
    const look = async (): Promise<"Settled" | "LookAgain"> => {
      // Without waiting: an address to block is wanted at once, and removals are held until the next look.
      const snapshot = await this.#inTurn(async () => await this.#pass());
      if (this.#version !== seen && !stop.aborted) {
        seen = this.#version;
        onChange(snapshot);
      }
      return isPassing(snapshot) ? "LookAgain" : "Settled";
    };
    const watching = watchDirectory(
      {
        directory: this.#directory,
        skip: this.#skip,
        clock,
        debounceMs,
        debounceMsMax: debounceMs * 50,
        rescanIntervalMs,
        onHint: look,
        onProblem: (code) => logger?.warn({ code, directory: this.#directory }, "the directory cannot be watched"),
      },
      stop,
    );
    this.#watching.add(watching.ended);
    await watching.ready;
    // What changed between the caller's load and now had no event.
    await look();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#watching);
    await this.#lastLoad;
  }

  /** Behind the running one, since that may already have passed the file that the caller just wrote. */
  async #inTurn(read: () => Promise<DirectorySnapshot>): Promise<DirectorySnapshot> {
    const turn = this.#lastLoad.then(read);
    this.#lastLoad = turn;
    return await turn;
  }

  async #settle(): Promise<DirectorySnapshot> {
    let snapshot = await this.#pass();
    for (let pass = 1; pass < passesMax && isPassing(snapshot) && !this.#closing.signal.aborted; pass += 1) {
      await this.#options.clock.sleep(passDelayMs, this.#closing.signal);
      snapshot = await this.#pass();
    }
    return snapshot;
  }

  async #pass(): Promise<DirectorySnapshot> {
    const { clock, quietMs = quietMsDefault } = this.#options;
    const nowMs = clock.nowMs();
    const reading = { directory: this.#directory, skip: this.#skip, cache: this.#cache, nowMs, quietMs };
    const snapshot = await readDirectory(reading);
    if (this.#version === 0 || snapshot.fingerprint !== this.#snapshot.fingerprint) {
      this.#version += 1;
      this.#gathered.clear();
    }
    // Lines and file names are new even where the meaning is not.
    this.#snapshot = snapshot;
    return snapshot;
  }
}
