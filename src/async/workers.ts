// Takes keys from a queue, with limited concurrency, and requeues them according to the handler's result. If a handler throws,
// its key is retried with backoff and nothing else is affected. Only the handler can report the error, with the context of the run.
import type { Clock } from "./clock.ts";
import type { KeyedQueue, QueuePriority } from "./keyed-queue.ts";

/** When a key is processed again without an external change. */
export interface NextRun {
  /**
   * Wall time; undefined if only a change requires another run. A time in the past means "continue at the tail of the queue", by
   * which long work lets other keys run.
   */
  readonly wakeAtMs?: number | undefined;
  /** `Resync` by default. */
  readonly priority?: QueuePriority;
  /** The work failed, and the handler's own backoff ends at `wakeAtMs`. */
  readonly hasFailed?: boolean;
  /** The key also runs again after the queue's backoff. */
  readonly mustRetry?: boolean;
}

/** `signal` aborts when the workers have to stop. */
export type WorkHandler<Key> = (key: Key, reasons: readonly string[], signal: AbortSignal) => Promise<NextRun>;

export interface WorkerOptions<Key> {
  readonly queue: Pick<KeyedQueue<Key>, "get" | "done" | "retry" | "retryAfter" | "forget" | "addAfter">;
  readonly clock: Pick<Clock, "nowMs">;
  /** The number of concurrently processed keys. */
  readonly workers: number;
  readonly handle: WorkHandler<Key>;
  readonly signal: AbortSignal;
}

/**
 * Runs until the queue is shut down or the signal aborts, and until all running work has finished. To let running work finish
 * undisturbed, shut the queue down without aborting the signal.
 */
export async function runWorkers<Key>({ queue, clock, signal, workers, handle }: WorkerOptions<Key>): Promise<void> {
  const process = async (key: Key, reasons: readonly string[]): Promise<void> => {
    let next: NextRun;
    try {
      next = await handle(key, reasons, signal);
    } catch {
      queue.retry(key, "retry");
      return;
    }
    const { wakeAtMs, priority = "Resync", hasFailed, mustRetry } = next;
    if (mustRetry === true) queue.retry(key, "retry");
    else queue.forget(key);
    if (wakeAtMs === undefined) return;
    const delayMs = wakeAtMs - clock.nowMs();
    if (hasFailed === true) queue.retryAfter(key, delayMs, "retry");
    else queue.addAfter(key, delayMs, { priority, reason: priority === "Retry" ? "retry" : "timer" });
  };
  const work = async (): Promise<void> => {
    for (let item = await queue.get(signal); item !== undefined; item = await queue.get(signal)) {
      await process(item.key, item.reasons).finally(() => queue.done(item.key));
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
}
