// Takes keys from a queue, with limited concurrency, and requeues them according to the handler's result. If a handler throws,
// its key is retried and nothing else is affected. Only the handler can report the error, with the context of the run.
import type { Clock } from "./clock.ts";
import type { KeyedQueue, QueueItem, QueuePriority } from "./keyed-queue.ts";

/**
 * - `Settled`: nothing to do before `wakeAtMs` (wall time); a time in the past means "continue at the tail of the queue", by
 *   which long work lets other keys run. Clears the key's backoff.
 * - `Retry`: the work failed; run again after the key's backoff. A handler that throws has the same result.
 * - `Failed`: the work failed, and the handler's own backoff ends at `wakeAtMs` (wall time). Clears the key's backoff.
 * - `Stuck`: run again only after an external change, or at `wakeAtMs` if given. Clears the key's backoff.
 */
export type WorkResult =
  | { readonly kind: "Settled"; readonly wakeAtMs?: number; readonly priority?: QueuePriority }
  | { readonly kind: "Retry" }
  | { readonly kind: "Failed"; readonly wakeAtMs: number }
  | { readonly kind: "Stuck"; readonly wakeAtMs?: number };

/** `signal` aborts when the workers have to stop. */
export type WorkHandler<Key> = (key: Key, reasons: readonly string[], signal: AbortSignal) => Promise<WorkResult>;

export interface WorkerOptions<Key> {
  readonly queue: Pick<KeyedQueue<Key>, "get" | "done" | "retry" | "retryAfter" | "forget" | "addAfter">;
  readonly clock: Pick<Clock, "nowMs">;
  /** The number of concurrently processed keys. */
  readonly workers: number;
  readonly handle: WorkHandler<Key>;
  readonly signal: AbortSignal;
}

function requeue<Key>({ queue, clock }: WorkerOptions<Key>, key: Key, result: WorkResult): void {
  if (result.kind === "Retry") {
    queue.retry(key, "retry");
    return;
  }
  queue.forget(key);
  if (result.wakeAtMs === undefined) return;
  const delayMs = result.wakeAtMs - clock.nowMs();
  if (result.kind === "Failed") {
    queue.retryAfter(key, delayMs, "retry");
    return;
  }
  const priority = (result.kind === "Settled" ? result.priority : undefined) ?? "Resync";
  queue.addAfter(key, delayMs, { priority, reason: priority === "Retry" ? "retry" : "timer" });
}

/**
 * Runs until the queue is shut down or the signal aborts, and until all running work has finished. To let running work finish
 * undisturbed, shut the queue down without aborting the signal.
 */
export async function runWorkers<Key>(options: WorkerOptions<Key>): Promise<void> {
  const { queue, signal, workers } = options;
  const work = async (): Promise<void> => {
    for (let item = await queue.get(signal); item !== undefined; item = await queue.get(signal)) {
      try {
        requeue(options, item.key, await resultOf(options, item));
      } finally {
        queue.done(item.key);
      }
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
}

async function resultOf<Key>(
  { handle, signal }: WorkerOptions<Key>,
  { key, reasons }: QueueItem<Key>,
): Promise<WorkResult> {
  try {
    return await handle(key, reasons, signal);
  } catch {
    return { kind: "Retry" };
  }
}
