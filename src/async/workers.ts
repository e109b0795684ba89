// Workers that take keys from a queue, one at a time each, and requeue them as the handler's result asks for. A handler that
// throws causes a retry: an error never ends a worker. Only the handler can report it, with what it knows about the run.
import type { Clock } from "./clock.ts";
import type { KeyedQueue, QueuePriority } from "./keyed-queue.ts";

/**
 * - `Settled`: nothing to do before `wakeAtMs` (wall time); a time in the past means "continue at the tail of the queue", by
 *   which long work lets other keys run. Clears the key's backoff.
 * - `Retry`: it failed; run again after the key's backoff. The same follows if the handler throws.
 * - `Failed`: it failed, and a backoff of the handler's own ends at `wakeAtMs` (wall time). Clears the key's backoff.
 * - `Stuck`: only an external change helps, or time until `wakeAtMs` if given. Clears the key's backoff.
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
  readonly workers: number;
  readonly handle: WorkHandler<Key>;
  readonly signal: AbortSignal;
}

async function resultOf<Key>(options: WorkerOptions<Key>, key: Key, reasons: readonly string[]): Promise<WorkResult> {
  try {
    return await options.handle(key, reasons, options.signal);
  } catch {
    return { kind: "Retry" };
  }
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

async function work<Key>(options: WorkerOptions<Key>): Promise<void> {
  const { queue, signal } = options;
  for (let item = await queue.get(signal); item !== undefined; item = await queue.get(signal)) {
    const { key, reasons } = item;
    try {
      requeue(options, key, await resultOf(options, key, reasons));
    } finally {
      queue.done(key);
    }
  }
}

/**
 * Runs the workers until the queue is shut down or the signal aborts, and until all running work has ended. To let running
 * work finish undisturbed, shut the queue down without aborting the signal.
 */
export async function runWorkers<Key>(options: WorkerOptions<Key>): Promise<void> {
  await Promise.all(Array.from({ length: options.workers }, () => work(options)));
}
