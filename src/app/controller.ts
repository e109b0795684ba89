// Runs one kind of work for all instances with one queue: at most one run of an instance at a time, woken by changes and by timers.
// The kind of work decides what a run does and when the next one is due.
import type { Clock } from "../async/clock.ts";
import { KeyedQueue, type QueueStats } from "../async/keyed-queue.ts";
import { type WorkResult, runWorkers } from "../async/workers.ts";
import { type ObjectName, nameKey, nameOfKey } from "../model/resource.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { MeasuredReconciles, ReconcileResult } from "../telemetry/metrics-runtime.ts";

export interface ControllerOptions<Run> {
  /** What one run works with. Called at the start of every run, with the reasons for which the instance was woken. */
  readonly startRun: (instance: ObjectName, reasons: readonly string[]) => Run;
  /** Whether this process works on the instance; on all, if undefined. A run that was planned may no longer concern it. */
  readonly isOwn?: (instance: ObjectName) => boolean;
  readonly clock: Clock;
  readonly random: () => number;
  /** The maximum number of concurrent runs. */
  readonly workers?: number;
  readonly metrics?: Pick<Metrics, "queue" | "reconciles">;
}

interface Kind {
  /** The label of the metrics. */
  readonly name: string;
  readonly workers: number;
}

export interface Ended<Outcome> {
  readonly outcome: Outcome;
  readonly result: ReconcileResult;
}

export abstract class Controller<Run extends { readonly onError?: (error: unknown) => void }, Memory> {
  protected readonly queue: KeyedQueue<string>;
  protected readonly memories = new Map<string, Memory>();
  protected readonly clock: Clock;
  readonly #options: ControllerOptions<Run>;
  readonly #workers: number;
  readonly #measured: MeasuredReconciles | undefined;

  protected constructor(options: ControllerOptions<Run>, { name, workers }: Kind) {
    const { clock, random, metrics } = options;
    const observer = metrics?.queue(name);
    this.queue = new KeyedQueue<string>({
      clock,
      random,
      ...(observer !== undefined && { observer }),
    });
    observer?.follow(() => this.stats());
    this.#measured = metrics?.reconciles(name);
    this.clock = clock;
    this.#options = options;
    this.#workers = options.workers ?? workers;
  }

  /** Forgets everything about the instance, as if the process had just started. */
  forget(instance: ObjectName): void {
    this.memories.delete(nameKey(instance));
  }

  stats(): QueueStats {
    return this.queue.stats();
  }

  /** Works until the signal aborts and the current runs have ended. */
  async run(signal: AbortSignal): Promise<void> {
    await runWorkers<string>({
      queue: this.queue,
      clock: this.clock,
      workers: this.#workers,
      signal,
      handle: async (key, reasons) => await this.#handle(key, reasons),
    });
    await this.queue.shutDown();
  }

  /** A result without a run; undefined if a run is due. */
  protected abstract restOf(key: string): WorkResult | undefined;

  protected abstract carryOut(key: string, run: Run): Promise<WorkResult>;

  /** Measures a run. */
  protected async measured<Outcome>(run: Run, act: () => Promise<Ended<Outcome>>) {
    const startMs = this.clock.monotonicMs();
    const durationMs = (): number => this.clock.monotonicMs() - startMs;
    try {
      const { outcome, result } = await act();
      this.#measured?.ended(result, durationMs());
      return { outcome, result, durationMs: durationMs() };
    } catch (error) {
      this.#measured?.ended("error", durationMs());
      run.onError?.(error);
      throw error;
    }
  }

  async #handle(key: string, reasons: readonly string[]): Promise<WorkResult> {
    const { isOwn, startRun } = this.#options;
    const name = nameOfKey(key);
    if (isOwn?.(name) !== false) return this.restOf(key) ?? (await this.carryOut(key, startRun(name, reasons)));
    this.forget(name);
    return { kind: "Stuck" };
  }
}
