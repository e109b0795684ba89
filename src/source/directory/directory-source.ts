// The desired state from a directory of files: the last snapshot, the objects of an instance, and a watch that rescans after
// changes. One scan runs at a time. A snapshot is immutable and replaced as a whole, so readers need no lock.
import { resolve } from "node:path";
import type { Clock } from "../../async/clock.ts";
import { Turns } from "../../async/turns.ts";
import type { ConfirmOptions, ConfirmedGathering, Gathered } from "../../model/gathered.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";
import { type EnvironmentKey, Gathering } from "./gather.ts";
import { hasTransientFault, readDirectory, type ReadFiles } from "./read-directory.ts";
import { type DirectorySnapshot, emptySnapshot, faultText } from "./snapshot.ts";

/** `load` scans again while files change during the scan, at most this many times in total. */
const scansMax = 8;
const rescanDelayMs = 50;
/** A missing object counts as deleted once no file has changed for this long. Additions do not wait. */
const quietMsDefault = 3_000;
/** The maximum wait for files that keep changing; then removals are on hold with a message. */
const quietWaitMsMax = 60_000;

export interface DirectorySourceOptions {
  readonly directory: string;
  /** Left out of the scan if it is inside the directory. */
  readonly stateDirectory: string | undefined;
  /** The API key of instances whose Secret is not in the directory. */
  readonly environmentKey: EnvironmentKey | undefined;
  readonly clock: Clock;
  readonly quietMs?: number;
  readonly rescanIntervalMs?: number;
}

const keepsChanging =
  "The files in the directory keep changing: wafsync removes no entries until they have been unchanged for a few seconds.";

export class DirectorySource {
  readonly #options: DirectorySourceOptions;
  readonly #directory: string;
  readonly #skip: readonly string[];
  readonly #closing = new AbortController();
  readonly #watching = new Set<Promise<void>>();
  #fingerprint: string | undefined;
  /** Of the last scan, and since when no scan has found another one. */
  #stamp: string | undefined;
  #stampSinceMs = 0;
  /** When the files began to change without a quiet period. */
  #busySinceMs = 0;
  #lastScanMs = 0;
  /** Aborts at the next change of the version. */
  #changing = new AbortController();
  #snapshot = emptySnapshot;
  #gathering: Gathering;
  #files: ReadFiles = new Map();
  #version = 0;
  /** One at a time: a running scan may already have read past a file that the caller has just written. */
  readonly #loads = new Turns();

  constructor(options: DirectorySourceOptions) {
    this.#options = options;
    this.#gathering = new Gathering(emptySnapshot, options.environmentKey);
    this.#directory = resolve(options.directory);
    this.#skip = options.stateDirectory === undefined ? [] : [resolve(options.stateDirectory)];
  }

  /**
   * Scans the directory, and again after a moment if files change during the scan. Never rejects: unreadable files are
   * faults of the snapshot.
   */
  async load(): Promise<DirectorySnapshot> {
    return await this.#loads.run(async () => {
      let snapshot = await this.#scan();
      for (let scans = 1; scans < scansMax && hasTransientFault(snapshot); scans += 1) {
        if (this.#closing.signal.aborted) break;
        await this.#options.clock.sleep(rescanDelayMs, this.#closing.signal);
        snapshot = await this.#scan();
      }
      return snapshot;
    });
  }

  /** The last snapshot; empty before the first `load`. */
  snapshot(): DirectorySnapshot {
    return this.#snapshot;
  }

  /** Increases whenever a scan finds that the files have changed. */
  version(): number {
    return this.#version;
  }

  /** Every declared instance, ordered by name. */
  instances(): ObjectName[] {
    const names = this.#snapshot.all("WafInstance").map(({ name }) => name);
    return names.toSorted((left, right) => (nameKey(left) < nameKey(right) ? -1 : 1));
  }

  /** All objects of the instance, from the last snapshot; the same object until the version changes. */
  async gather(instance: ObjectName): Promise<Gathered | undefined> {
    return this.#gathering.of(instance);
  }

  /**
   * The same after another `load`. Before removals it waits until no file has changed for the quiet period, or until the
   * files change, which the caller may have to act on first.
   */
  async confirm(
    instance: ObjectName,
    { beforeRemovals = false, signal }: ConfirmOptions = {},
  ): Promise<ConfirmedGathering> {
    const stops = [this.#changing.signal, ...(signal === undefined ? [] : [signal])];
    const end = await this.#whenQuiet(beforeRemovals ? stops : [AbortSignal.abort()]);
    const whole = this.#snapshot.faults.find(({ file, blocksRemovals }) => file === "." && blocksRemovals === "All");
    if (whole !== undefined) return { state: "Failed", problem: faultText(whole) };
    const gathered = await this.gather(instance);
    if (end !== "Changing" || !beforeRemovals) {
      return { state: "Read", gathered, ...(end !== "Quiet" && { isUnsettled: true }) };
    }
    const brokenSources = [...(gathered?.brokenSources ?? []), keepsChanging];
    return { state: "Read", gathered: gathered && { ...gathered, brokenSources } };
  }

  /** Whether no file has changed for the quiet period. */
  isSettled(): boolean {
    return this.#quietLeftMs() === 0;
  }

  /** Resolves once no file has changed for the quiet period: true; false if it was aborted, or the files keep changing. */
  async settle(signal: AbortSignal): Promise<boolean> {
    return (await this.#whenQuiet([signal])) === "Quiet" && !signal.aborted;
  }

  /**
   * How long after the last scan the files must still be the same. Files that are replaced one after another are temporarily missing,
   * which is not a request to remove their entries. Time is measured between the scans of this process, with its monotonic clock, because
   * the wall clock may be changed and the files may have another clock.
   */
  #quietLeftMs(): number {
    const { quietMs = quietMsDefault } = this.#options;
    if (this.#stamp === undefined) return quietMs;
    return Math.max(0, quietMs - (this.#lastScanMs - this.#stampSinceMs));
  }

  /** Loads, and again until no file has changed for the quiet period, a signal aborts, or the files have kept changing for too long. */
  async #whenQuiet(stops: readonly AbortSignal[]): Promise<"Quiet" | "Aborted" | "Changing"> {
    const { clock } = this.#options;
    const stop = AbortSignal.any([this.#closing.signal, ...stops]);
    for (;;) {
      await this.load();
      if (this.isSettled()) return "Quiet";
      if (clock.monotonicMs() - this.#busySinceMs >= quietWaitMsMax) return "Changing";
      if (stop.aborted) return "Aborted";
      await clock.sleep(this.#quietLeftMs(), stop);
    }
  }

  /**
   * Scans whenever files change, and calls back if the snapshot has changed. Resolves once it is watching;
   * ends when the signal aborts or the source is closed.
   */
  async watch(onChange: (snapshot: DirectorySnapshot) => void, signal: AbortSignal): Promise<void> {
    const { clock, rescanIntervalMs = 30_000 } = this.#options;
    const stop = AbortSignal.any([signal, this.#closing.signal]);
    if (stop.aborted) return;
    let seen = this.#version;
    // `wafsync plan` never watches, so it does not load what watching needs.
    const { watchDirectory } = await import("./watch-directory.ts");
    if (stop.aborted) return;
    const scan = async (): Promise<"Settled" | "Rescan"> => {
      // Without waiting for stable files: a new address is blocked immediately.
      const snapshot = await this.#loads.run(async () => await this.#scan());
      if (this.#version !== seen && !stop.aborted) {
        seen = this.#version;
        onChange(snapshot);
      }
      return hasTransientFault(snapshot) ? "Rescan" : "Settled";
    };
    const watching = watchDirectory(
      {
        directory: this.#directory,
        skip: this.#skip,
        clock,
        rescanIntervalMs,
        onHint: scan,
      },
      stop,
    );
    this.#watching.add(watching.ended);
    await watching.ready;
    // Changes between the caller's load and this moment caused no event.
    await scan();
  }

  /** Ends all watches. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#watching);
    await this.#loads.ended();
  }

  async #scan(): Promise<DirectorySnapshot> {
    const { clock, environmentKey } = this.#options;
    const startMs = clock.monotonicMs();
    const reading = { directory: this.#directory, skip: this.#skip, before: this.#files };
    const { snapshot, files, fingerprint, stamp } = await readDirectory(reading);
    this.#files = files;
    const wasQuiet = this.#stamp === undefined || this.isSettled();
    if (stamp !== this.#stamp) this.#stampSinceMs = clock.monotonicMs();
    if (stamp !== this.#stamp && wasQuiet) this.#busySinceMs = this.#stampSinceMs;
    this.#stamp = stamp;
    this.#lastScanMs = Math.max(startMs, this.#stampSinceMs);
    if (fingerprint === this.#fingerprint) return this.#snapshot;
    this.#fingerprint = fingerprint;
    this.#version += 1;
    this.#snapshot = snapshot;
    this.#gathering = new Gathering(snapshot, environmentKey);
    this.#changing.abort();
    this.#changing = new AbortController();
    return snapshot;
  }
}
