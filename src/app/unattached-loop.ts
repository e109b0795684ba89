// Reports on unattached objects after every change, and periodically, until the process stops.
import type { ChangeSignal } from "../async/change-signal.ts";
import type { Clock } from "../async/clock.ts";
import type { UnattachedPorts, UnattachedSource } from "./report-unattached.ts";
import { reconcileUnattached } from "./report-unattached.ts";

/** Changes that follow one another within this time cause one round. */
const debounceMs = 500;
/** A status that could not be written is retried after this time, even if nothing changes. */
const intervalMs = 60_000;

/** Runs until the signal aborts. Never rejects. */
export async function runUnattachedLoop(
  source: UnattachedSource,
  ports: UnattachedPorts,
  changed: ChangeSignal,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const { version } = changed;
    await reconcileUnattached(source, ports, clock.nowMs());
    const over = new AbortController();
    const either = AbortSignal.any([signal, over.signal]);
    await Promise.race([changed.wait(version, either), clock.sleep(intervalMs, either)]);
    over.abort();
    await clock.sleep(debounceMs, signal);
  }
}
