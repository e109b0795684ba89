// Calls `onHint` when something below a folder may have changed, without saying what: the caller rescans. Events are only
// hints; the rescan after an interval without any finds what caused no event (network file systems, watch limits, missed renames).
import { lstatSync, realpathSync, statSync } from "node:fs";
import { basename, relative, resolve } from "node:path";
import { type FSWatcher, watch } from "chokidar";
import { ChangeSignal } from "../../async/change-signal.ts";
import type { Clock } from "../../async/clock.ts";

export interface WatchOptions {
  readonly directory: string;
  /** Absolute paths to leave out. */
  readonly skip: readonly string[];
  /** The maximum depth of folders below the directory. */
  readonly depthMax: number;
  readonly clock: Clock;
  /**
   * Quiet time between an event and `onHint`. It starts short, so that an urgent file is read immediately, and doubles with
   * every further hint of a burst up to `debounceMsMax`, so that thousands of changed files cause few scans.
   */
  readonly debounceMs: number;
  readonly debounceMsMax: number;
  readonly rescanIntervalMs: number;
  /**
   * Awaited: the next hint comes only after it has resolved. Must not reject. After `Rescan` another hint follows even
   * without an event, after increasing delays.
   */
  readonly onHint: () => Promise<"Settled" | "Rescan">;
}

const retryDelayMsMin = 250;
/** The maximum wait for the watch to start: the polling interval finds missed changes. */
const readyMsMax = 10_000;
/** A burst ends after this long without a hint. */
const silenceMs = 500;
/** The longest time between the first event of a burst and a hint. */
const burstMsMax = 500;

/**
 * Watches until the signal aborts. `ready` resolves once every further change causes an event, or soon after if the folder can't be
 * watched; `ended` resolves after the abort, once everything is closed.
 */
export function watchDirectory(
  options: WatchOptions,
  signal: AbortSignal,
): { readonly ready: Promise<void>; readonly ended: Promise<void> } {
  const burst = new Burst(options);
  const watcher = openWatcher(options);
  watcher.on("all", () => burst.event());
  // The library drops `all` events within 50 ms of each other, and with them the last state of a file, but no `raw` events.
  watcher.on("raw", () => burst.event());
  // What can't be watched is found at the intervals.
  watcher.on("error", () => undefined);
  const ready = new Promise<void>((done) => {
    // A link whose path contains a file makes the library silently stop reading a folder.
    const cancel = options.clock.schedule(readyMsMax, done);
    const settle = (): void => {
      cancel();
      done();
    };
    watcher.once("ready", settle);
    signal.addEventListener("abort", settle, { once: true });
  });
  const ended = hintAfterBursts(options, burst, signal)
    .then(() => watcher.close())
    .catch(() => undefined);
  return { ready, ended };
}

function openWatcher({ directory, skip, depthMax }: WatchOptions): FSWatcher {
  const root = resolve(directory);
  const skipped = new Set(skip.flatMap((path) => [path, pathBelow(root, path)]));
  return watch(root, {
    ignoreInitial: true,
    depth: depthMax,
    // A mounted ConfigMap changes when its link `..data` gets a new target, so names with two dots are not ignored.
    ignored: (path) => {
      const name = basename(path);
      if (path === root) return false;
      return skipped.has(path) || name === "node_modules" || /^\.(?!\.)/.test(name) || isLinkToFolder(path);
    },
  });
}

/** The path below the root for a folder that was given by another path. */
function pathBelow(root: string, path: string): string {
  try {
    return resolve(root, relative(realpathSync(root), realpathSync(path)));
  } catch {
    return path;
  }
}

/**
 * Such a folder is watched at its real path, if it is inside; circular links would be followed up to the depth limit. Changes of
 * the link itself are reported by the watch of its parent folder.
 */
function isLinkToFolder(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink() && !statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The times of the first and last event of a burst, and a way to wait for the next event. */
class Burst {
  readonly #clock: Clock;
  readonly #begun = new ChangeSignal();
  firstMs: number | undefined;
  lastMs = 0;

  constructor({ clock }: WatchOptions) {
    this.#clock = clock;
  }

  event(): void {
    this.lastMs = this.#clock.monotonicMs();
    this.firstMs ??= this.lastMs;
    this.#begun.notify();
  }

  /** Resolves as soon as there is an event since the last hint, at the latest after this time, or at the abort. */
  async begun(idleMs: number, signal: AbortSignal): Promise<void> {
    if (this.firstMs !== undefined) return;
    const cancel = this.#clock.schedule(idleMs, () => this.event());
    await this.#begun.wait(this.#begun.version, signal);
    cancel();
  }
}

async function hintAfterBursts(options: WatchOptions, burst: Burst, signal: AbortSignal): Promise<void> {
  const { clock, debounceMs, debounceMsMax, rescanIntervalMs, onHint } = options;
  let idleMs = rescanIntervalMs;
  let retryDelayMs = retryDelayMsMin;
  let hintedMs = Number.NEGATIVE_INFINITY;
  let quietMs = debounceMs;
  while (!signal.aborted) {
    await burst.begun(idleMs, signal);
    const firstMs = burst.firstMs ?? clock.monotonicMs();
    quietMs = firstMs - hintedMs < silenceMs ? Math.min(quietMs * 2, debounceMsMax) : debounceMs;
    for (let leftMs = quietMs; leftMs > 0 && !signal.aborted;) {
      await clock.sleep(leftMs, signal);
      leftMs = Math.min(burst.lastMs + quietMs, firstMs + burstMsMax) - clock.monotonicMs();
    }
    burst.firstMs = undefined;
    if (signal.aborted) return;
    const answer = await onHint();
    hintedMs = clock.monotonicMs();
    idleMs = answer === "Rescan" ? retryDelayMs : rescanIntervalMs;
    retryDelayMs = answer === "Rescan" ? Math.min(retryDelayMs * 2, rescanIntervalMs) : retryDelayMsMin;
  }
}
