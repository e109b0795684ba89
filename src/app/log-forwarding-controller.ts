// Forwards the logs of all instances: one queue of instances, at most one run of an instance at a time, woken by changes and
// by timers. Instances that do not forward logs cost nothing, and a run that waits for its WAF releases its worker.
import type { Clock } from "../async/clock.ts";
import type { QueueObserver, QueueStats } from "../async/keyed-queue.ts";
import { KeyedQueue } from "../async/keyed-queue.ts";
import type { Park, WorkResult } from "../async/workers.ts";
import { runWorkers } from "../async/workers.ts";
import type { ObjectName } from "../model/resource.ts";
import { nameKey, nameOfKey } from "../model/resource.ts";
import { forwardLogs } from "../reconcile/logs/forward-logs.ts";
import type { ForwardOutcome } from "../reconcile/logs/forward-logs.ts";
import type { ForwardLogsPorts, ForwardMemory } from "../reconcile/logs/forward-ports.ts";
import { newForwardMemory } from "../reconcile/logs/forward-ports.ts";
import { parkingLogPorts } from "./parked-waits.ts";
import type { MeasuredReconciles, ReconcileResult } from "../telemetry/metrics-reconciles.ts";

/** The maximum number of concurrent runs. Each keeps a page or two in memory. */
const workers = 8;

/** What one run works with, created when it starts. */
export interface ForwardRun {
  readonly ports: ForwardLogsPorts;
  /** Called if the run threw, which is a bug in wafsync. Must not throw. */
  readonly onError?: (error: unknown) => void;
}

export interface LogForwardingOptions {
  /** Called at the start of every run, with the reasons for which the instance was woken. */
  readonly startRun: (instance: ObjectName, reasons: readonly string[]) => ForwardRun;
  /** Whether the instance forwards logs, or its status says so. Must be cheap, because it is called at every change. */
  readonly concerns: (instance: ObjectName) => boolean;
  /** Whether this process works on the instance; on all, if undefined. A run that was planned may no longer concern it. */
  readonly isOwn?: (instance: ObjectName) => boolean;
  readonly clock: Clock;
  readonly random: () => number;
  readonly queueObserver?: QueueObserver;
  readonly measured?: MeasuredReconciles;
}

export class LogForwardingController {
  readonly #options: LogForwardingOptions;
  readonly #queue: KeyedQueue<string>;
  readonly #memories = new Map<string, ForwardMemory>();

  constructor(options: LogForwardingOptions) {
    this.#options = options;
    const { clock, random, queueObserver: observer } = options;
    this.#queue = new KeyedQueue<string>({ clock, random, ...(observer === undefined ? {} : { observer }) });
  }

  /** Call this when something about the instance may have changed. */
  wake(instance: ObjectName, reason: string): void {
    const key = nameKey(instance);
    if (this.#memories.has(key) || this.#options.concerns(instance))
      this.#queue.add(key, { priority: "Change", reason });
  }

  /** Forgets everything about the instance, as if the process had just started. */
  forget(instance: ObjectName): void {
    this.#memories.delete(nameKey(instance));
  }

  stats(): QueueStats {
    return this.#queue.stats();
  }

  /** Works until the signal aborts and the current runs have ended. */
  async run(signal: AbortSignal): Promise<void> {
    await runWorkers<string>({
      queue: this.#queue,
      clock: this.#options.clock,
      workers,
      signal,
      handle: async (key, reasons, _signal, park) => await this.#handle(key, reasons, park),
    });
    await this.#queue.shutDown();
  }

  async #handle(key: string, reasons: readonly string[], park: Park): Promise<WorkResult> {
    const name = nameOfKey(key);
    if (this.#options.isOwn?.(name) === false) {
      this.forget(name);
      return { kind: "Stuck" };
    }
    return await this.#carryOut(key, name, this.#options.startRun(name, reasons), park);
  }

  async #carryOut(key: string, name: ObjectName, run: ForwardRun, park: Park): Promise<WorkResult> {
    const { clock, measured } = this.#options;
    const memory = this.#memories.get(key) ?? newForwardMemory();
    this.#memories.set(key, memory);
    const { ports: given, onError } = run;
    const ports = parkingLogPorts(given, park);
    const startMs = clock.monotonicMs();
    let ended: { readonly outcome: ForwardOutcome; readonly result: ReconcileResult };
    try {
      ended = await forward(name, ports, memory);
    } catch (error) {
      measured?.ended("error", clock.monotonicMs() - startMs);
      onError?.(error);
      throw error;
    }
    measured?.ended(ended.result, clock.monotonicMs() - startMs);
    const { isOver, wakeAtMs } = ended.outcome;
    if (isOver) return this.#finish(key, memory);
    if (wakeAtMs === undefined) return { kind: "Stuck" };
    return ended.result === "error" ? { kind: "Failed", wakeAtMs } : { kind: "Settled", wakeAtMs };
  }

  /** Remembers the instance's usage until its hour ends, so that turning forwarding off and on does not reset the limit. */
  #finish(key: string, { usage }: ForwardMemory): WorkResult {
    const wakeAtMs = usage.forgottenAt(this.#options.clock.nowMs());
    if (wakeAtMs === undefined) this.#memories.delete(key);
    else this.#memories.set(key, newForwardMemory(usage));
    return wakeAtMs === undefined ? { kind: "Stuck" } : { kind: "Settled", wakeAtMs };
  }
}

/** A failure with backoff increases `memory.failures`; any other failure needs a change from outside. */
async function forward(name: ObjectName, ports: ForwardLogsPorts, memory: ForwardMemory) {
  const { failures } = memory;
  let hasFailed = false;
  const failed: ForwardLogsPorts["observer"]["failed"] = (instance, reason, fault) => {
    hasFailed = true;
    ports.observer.failed?.(instance, reason, fault);
  };
  const outcome = await forwardLogs(name, { ...ports, observer: { ...ports.observer, failed } }, memory);
  const result: ReconcileResult = memory.failures > failures ? "error" : hasFailed ? "blocked" : "success";
  return { outcome, result };
}
