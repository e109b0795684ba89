// Workers that take keys from a queue, one each at a time, and put back what the handler's result asks for.
// A handler that throws is treated as a retry: an error never ends a worker.
import type { Clock } from "./clock.ts";
import type { KeyedQueue, QueuePriority } from "./keyed-queue.ts";

/**
 * - `Settled`: nothing to do before `wakeAtMs` (wall time); a time that has passed means "go on at the tail of the queue",
 *   which is how a long piece of work lets others in. Clears the key's back-off.
 * - `Retry`: it failed; again after the key's back-off.
 * - `Stuck`: only a change from outside helps, or time until `wakeAtMs` if given. Clears the key's back-off.
 */
export type WorkResult =
  | { readonly kind: "Settled"; readonly wakeAtMs?: number; readonly priority?: QueuePriority }
  | { readonly kind: "Retry"; readonly error: unknown }
  | { readonly kind: "Stuck"; readonly wakeAtMs?: number };

/** `signal` aborts when the workers are stopped without waiting for the work to end by itself. */
export type WorkHandler<Key> = (key: Key, reasons: readonly string[], signal: AbortSignal) => Promise<WorkResult>;

export interface WorkerOptions<Key> {
  readonly queue: Pick<KeyedQueue<Key>, "get" | "done" | "retry" | "forget" | "addAfter">;
  readonly clock: Pick<Clock, "nowMs">;
  readonly workers: number;
  readonly handle: WorkHandler<Key>;
  /** Told of every retry, for the log: the delay in milliseconds, and the error that the handler gave or threw. */
  readonly onRetry?: (key: Key, delayMs: number, error: unknown) => void;
  readonly signal: AbortSignal;
}

async function resultOf<Key>(options: WorkerOptions<Key>, key: Key, reasons: readonly string[]): Promise<WorkResult> {
  try {
    return await options.handle(key, reasons, options.signal);
  } catch (error) {
    return { kind: "Retry", error };
  }
}

function putBack<Key>({ queue, clock, onRetry }: WorkerOptions<Key>, key: Key, result: WorkResult): void {
  if (result.kind === "Retry") {
    onRetry?.(key, queue.retry(key, "retry"), result.error);
    return;
  }
  queue.forget(key);
  if (result.wakeAtMs === undefined) return;
  const priority = (result.kind === "Settled" ? result.priority : undefined) ?? "Resync";
  queue.addAfter(key, result.wakeAtMs - clock.nowMs(), { priority, reason: "timer" });
}

async function work<Key>(options: WorkerOptions<Key>): Promise<void> {
  const { queue, signal } = options;
  for (let item = await queue.get(signal); item !== undefined; item = await queue.get(signal)) {
    const { key, reasons } = item;
    try {
      putBack(options, key, await resultOf(options, key, reasons));
    } finally {
      queue.done(key);
    }
  }
}

/**
 * Runs the workers until the queue is shut down or the signal aborts, and every piece of work that was begun has ended.
 * To let running work end by itself, shut the queue down and leave the signal alone.
 */
export async function runWorkers<Key>(options: WorkerOptions<Key>): Promise<void> {
  await Promise.all(Array.from({ length: options.workers }, () => work(options)));
}
