// Tells that something below a folder changed, without saying what: whoever is told looks again. Events are a hint alone;
// the look-again at fixed intervals finds what no event told (network file systems, a limit on watches, missed renames).
import { type FSWatcher, watch } from "chokidar";
import { basename, resolve } from "node:path";
import type { Clock } from "../../async/clock.ts";
import { folderDepthMax } from "./list-files.ts";

export interface WatchOptions {
  readonly directory: string;
  /** Absolute paths that are not looked at. */
  readonly skip: readonly string[];
  readonly clock: Clock;
  /**
   * Quiet time after an event before `onHint`: the shorter one after a silence, so that an urgent file is read at once. It
   * doubles with every further hint of a burst, up to the longer one, so that thousands of files cost few looks.
   */
  readonly debounceMs: number;
  readonly debounceMsMax: number;
  readonly rescanIntervalMs: number;
  /**
   * Awaited: there is no second hint while the first is worked on. Must not reject. After `LookAgain` the next hint comes
   * without an event too, soon at first and then ever more slowly.
   */
  readonly onHint: () => Promise<"Settled" | "LookAgain">;
  /** The file system cannot be watched, or not all of it: from now on only the intervals find changes there. */
  readonly onProblem: (code: string) => void;
}

const retryDelayMsMin = 250;
/** After so long without a hint a burst is over. */
const silenceMs = 500;
/** The latest moment for a hint in a burst that does not end. */
const burstMsMax = 500;

/**
 * Watches until the signal aborts.
 * @returns `ready` when every change from then on is seen; `ended` when all is closed after the abort.
 */
export function watchDirectory(
  options: WatchOptions,
  signal: AbortSignal,
): { readonly ready: Promise<void>; readonly ended: Promise<void> } {
  const burst = new Burst(options);
  const watcher = openWatcher(options);
  watcher.on("all", () => burst.event());
  // The library drops events that follow each other within 50 ms, and with them the last state of a file; these it doesn't.
  watcher.on("raw", () => burst.event());
  watcher.on("error", (error) => options.onProblem(errorCode(error)));
  const ready = new Promise<void>((done) => {
    watcher.once("ready", done);
    signal.addEventListener("abort", () => done(), { once: true });
  });
  const ended = Promise.all([hintAfterBursts(options, burst, signal), hintAtIntervals(options, burst, signal)])
    .then(() => watcher.close())
    .catch(() => undefined);
  return { ready, ended };
}

function openWatcher({ directory, skip }: WatchOptions): FSWatcher {
  const root = resolve(directory);
  const skipped = new Set(skip);
  return watch(root, {
    ignoreInitial: true,
    depth: folderDepthMax,
    // A mounted ConfigMap changes by a new target of its link `..data`, hence two dots are not ignored.
    ignored: (path) => {
      const name = basename(path);
      return path !== root && (skipped.has(path) || name === "node_modules" || /^\.(?!\.)/.test(name));
    },
  });
}

/** When the last events came, and a way to wait for the next. */
class Burst {
  readonly #clock: Clock;
  #wake: (() => void) | undefined;
  firstMs: number | undefined;
  lastMs = 0;

  constructor({ clock }: WatchOptions) {
    this.#clock = clock;
  }

  event(): void {
    this.lastMs = this.#clock.monotonicMs();
    this.firstMs ??= this.lastMs;
    this.#wake?.();
  }

  /** Resolves once there is an event that was not taken, or at the abort. */
  async waitForEvent(signal: AbortSignal): Promise<void> {
    if (this.firstMs !== undefined || signal.aborted) return;
    await new Promise<void>((done) => {
      const wake = (): void => {
        signal.removeEventListener("abort", wake);
        this.#wake = undefined;
        done();
      };
      this.#wake = wake;
      signal.addEventListener("abort", wake, { once: true });
    });
  }

  take(): void {
    this.firstMs = undefined;
  }
}

async function hintAfterBursts(options: WatchOptions, burst: Burst, signal: AbortSignal): Promise<void> {
  const { clock, debounceMs, debounceMsMax, rescanIntervalMs, onHint } = options;
  let retryDelayMs = retryDelayMsMin;
  let retries = 0;
  let hintedMs = Number.NEGATIVE_INFINITY;
  let quietMs = debounceMs;
  const retryLater = async (): Promise<void> => {
    retries += 1;
    await clock.sleep(retryDelayMs, signal);
    retries -= 1;
    burst.event();
  };
  while (!signal.aborted) {
    await burst.waitForEvent(signal);
    const firstMs = burst.firstMs ?? clock.monotonicMs();
    quietMs = firstMs - hintedMs < silenceMs ? Math.min(quietMs * 2, debounceMsMax) : debounceMs;
    for (let leftMs = quietMs; leftMs > 0 && !signal.aborted;) {
      await clock.sleep(leftMs, signal);
      leftMs = Math.min(burst.lastMs + quietMs, firstMs + burstMsMax) - clock.monotonicMs();
    }
    burst.take();
    if (signal.aborted) return;
    const answer = await onHint();
    hintedMs = clock.monotonicMs();
    if (answer === "LookAgain" && retries === 0) void retryLater();
    retryDelayMs = answer === "LookAgain" ? Math.min(retryDelayMs * 2, rescanIntervalMs) : retryDelayMsMin;
  }
}

async function hintAtIntervals(
  { clock, rescanIntervalMs }: WatchOptions,
  burst: Burst,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(rescanIntervalMs, signal);
    burst.event();
  }
}

function errorCode(error: unknown): string {
  const code = (error as { readonly code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "unknown";
}
