// Keeps the logs of all instances forwarded: one queue of instances, one look of an instance at a time, woken by changes and by
// time. Instances that forward nothing cost nothing.
import type { QueueObserver, QueueStats } from "../async/keyed-queue.ts";
import { KeyedQueue } from "../async/keyed-queue.ts";
import type { WorkResult } from "../async/workers.ts";
import { runWorkers } from "../async/workers.ts";
import type { ObjectName } from "../model/resource.ts";
import { nameKey } from "../model/resource.ts";
import { forwardLogs } from "../reconcile/logs/forward-logs.ts";
import type { ForwardLogsPorts, ForwardMemory } from "../reconcile/logs/forward-ports.ts";
import { newForwardMemory } from "../reconcile/logs/forward-ports.ts";

/** Looks at the same time. Each holds a page or two. */
const workers = 8;

export interface LogForwardingOptions {
  readonly ports: ForwardLogsPorts;
  readonly queueObserver?: QueueObserver;
  /** Whether the instance forwards its logs, or its status says that it does. Cheap: asked at each change. */
  readonly concerns: (instance: ObjectName) => boolean;
  /** Told of a look that threw, which is a defect of wafsync. */
  readonly onError: (instance: string, error: unknown) => void;
}

export class LogForwardingController {
  readonly #options: LogForwardingOptions;
  readonly #queue: KeyedQueue<string>;
  readonly #memories = new Map<string, ForwardMemory>();

  constructor(options: LogForwardingOptions) {
    this.#options = options;
    const { ports, queueObserver: observer } = options;
    const { clock, random } = ports;
    this.#queue = new KeyedQueue<string>({ clock, random, ...(observer === undefined ? {} : { observer }) });
  }

  /** Something about the instance may have changed. */
  wake(instance: ObjectName, reason: string): void {
    const key = nameKey(instance);
    if (this.#memories.has(key) || this.#options.concerns(instance))
      this.#queue.add(key, { priority: "Change", reason });
  }

  stats(): QueueStats {
    return this.#queue.stats();
  }

  /** Works until the signal aborts and the looks that run have ended. */
  async run(signal: AbortSignal): Promise<void> {
    const { ports, onError } = this.#options;
    await runWorkers<string>({
      queue: this.#queue,
      clock: ports.clock,
      workers,
      signal,
      handle: async (key) => await this.#handle(key),
      onRetry: (key, _delayMs, error) => onError(key, error),
    });
    await this.#queue.shutDown();
  }

  async #handle(key: string): Promise<WorkResult> {
    const memory = this.#memories.get(key) ?? newForwardMemory();
    this.#memories.set(key, memory);
    const slash = key.indexOf("/");
    const name = { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
    const { isOver, wakeAtMs } = await forwardLogs(name, this.#options.ports, memory);
    if (isOver) this.#memories.delete(key);
    return wakeAtMs === undefined ? { kind: "Stuck" } : { kind: "Settled", wakeAtMs };
  }
}
