// Takes keys from a queue, with limited concurrency, and requeues them according to the handler's result. If a handler throws,
// its key is retried and nothing else is affected. Only the handler can report the error, with the context of the run. A handler
// that only waits parks, and another key uses its worker in the meantime.
import type { Clock } from "./clock.ts";
import type { KeyedQueue } from "./keyed-queue.ts";
import type { QueuePriority } from "./keyed-queue.ts";

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

/** Releases the worker. Call the returned function when the work continues, which can be immediately. */
export type Park = () => () => void;

/** `signal` aborts when the workers have to stop. */
export type WorkHandler<Key> = (
  key: Key,
  reasons: readonly string[],
  signal: AbortSignal,
  park: Park,
) => Promise<WorkResult>;

/** Above this limit, handlers keep their workers, because each parked handler uses memory. */
export const parkedMax = 1_000;

export interface WorkerOptions<Key> {
  readonly queue: Pick<KeyedQueue<Key>, "get" | "done" | "retry" | "retryAfter" | "forget" | "addAfter">;
  readonly clock: Pick<Clock, "nowMs">;
  /** The number of concurrently processed keys, without parked ones. */
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
  await new Workers(options).run();
}

class Workers<Key> {
  readonly #options: WorkerOptions<Key>;
  readonly #running = new Set<Promise<void>>();
  #parked = 0;
  /** Waits until a worker is free. */
  #waiting: (() => void) | undefined;

  constructor(options: WorkerOptions<Key>) {
    this.#options = options;
  }

  async run(): Promise<void> {
    const { queue, signal } = this.#options;
    for (let item = await queue.get(signal); item !== undefined; item = await queue.get(signal)) {
      const work = this.#work(item.key, item.reasons);
      this.#running.add(work);
      void work.finally(() => {
        this.#running.delete(work);
        this.#freed();
      });
      while (!this.#hasPlace) await new Promise<void>((resolve) => (this.#waiting = resolve));
    }
    await Promise.all(this.#running);
  }

  get #hasPlace(): boolean {
    return this.#running.size - this.#parked < this.#options.workers;
  }

  #freed(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.();
  }

  #park(): () => void {
    if (this.#parked >= parkedMax) return () => undefined;
    this.#parked += 1;
    this.#freed();
    let isParked = true;
    return () => {
      if (isParked) this.#parked -= 1;
      isParked = false;
    };
  }

  async #work(key: Key, reasons: readonly string[]): Promise<void> {
    const { queue } = this.#options;
    try {
      requeue(this.#options, key, await this.#resultOf(key, reasons));
    } finally {
      queue.done(key);
    }
  }

  async #resultOf(key: Key, reasons: readonly string[]): Promise<WorkResult> {
    const { handle, signal } = this.#options;
    try {
      return await handle(key, reasons, signal, () => this.#park());
    } catch {
      return { kind: "Retry" };
    }
  }
}
