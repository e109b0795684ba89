// Calls `onHint` when something below a folder may have changed, without saying what: the caller rescans. Events are only
// hints; the rescan after an interval without any finds what caused no event (network file systems, watch limits, missed renames).
import { once } from "node:events";
import { lstatSync, statSync } from "node:fs";
import { basename, resolve } from "node:path";
import { type FSWatcher, watch } from "chokidar";
import { ChangeSignal } from "../../async/change-signal.ts";
import { type Clock, withDeadline } from "../../async/clock.ts";

export interface WatchOptions {
  readonly directory: string;
  /** Absolute paths to leave out. */
  readonly skip: readonly string[];
  readonly clock: Clock;
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
/** Most programs have finished writing a file after this time. */
const settleMs = 1;
/** The pause after a hint: the first file of thousands is read immediately, and the others cause few scans. */
const pauseMs = 50;

/**
 * Watches until the signal aborts. `ready` resolves once every further change causes an event, or soon after if the folder can't be
 * watched; `ended` resolves after the abort, once everything is closed.
 */
export function watchDirectory(
  options: WatchOptions,
  signal: AbortSignal,
): { readonly ready: Promise<void>; readonly ended: Promise<void> } {
  const changed = new ChangeSignal();
  const watcher = openWatcher(options);
  watcher.on("all", () => changed.notify());
  // The library drops `all` events within 50 ms of each other, and with them the last state of a file, but no `raw` events.
  watcher.on("raw", () => changed.notify());
  // What can't be watched is found at the intervals.
  watcher.on("error", () => undefined);
  // A link whose path contains a file makes the library silently stop reading a folder.
  const deadline = { clock: options.clock, timeoutMs: readyMsMax, signal };
  const ready = withDeadline(deadline, async (over) => void (await once(watcher, "ready", { signal: over })))
    .then(() => undefined)
    .catch(() => undefined);
  const ended = hintAfterChanges(options, changed, signal)
    .then(() => watcher.close())
    .catch(() => undefined);
  return { ready, ended };
}

function openWatcher({ directory, skip }: WatchOptions): FSWatcher {
  const root = resolve(directory);
  return watch(root, {
    ignoreInitial: true,
    // A mounted ConfigMap changes when its link `..data` gets a new target, so names with two dots are not ignored.
    ignored: (path) => {
      const name = basename(path);
      if (path === root) return false;
      return skip.includes(path) || name === "node_modules" || /^\.(?!\.)/.test(name) || isLinkToFolder(path);
    },
  });
}

/**
 * Such a folder is watched at its real path, if it is inside; circular links would be followed without end. Changes of
 * the link itself are reported by the watch of its parent folder.
 */
function isLinkToFolder(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink() && !statSync(path).isFile();
  } catch {
    return false;
  }
}

async function hintAfterChanges(options: WatchOptions, changed: ChangeSignal, signal: AbortSignal): Promise<void> {
  const { clock, rescanIntervalMs, onHint } = options;
  let idleMs = rescanIntervalMs;
  let retryDelayMs = retryDelayMsMin;
  for (let seen = changed.version; !signal.aborted; await clock.sleep(pauseMs, signal)) {
    const cancel = clock.schedule(idleMs, () => changed.notify());
    await changed.wait(seen, signal);
    cancel();
    await clock.sleep(settleMs, signal);
    if (signal.aborted) return;
    seen = changed.version;
    const answer = await onHint();
    idleMs = answer === "Rescan" ? retryDelayMs : rescanIntervalMs;
    retryDelayMs = answer === "Rescan" ? Math.min(retryDelayMs * 2, rescanIntervalMs) : retryDelayMsMin;
  }
}
