// Runs one kind of work for all instances with one queue: at most one run of an instance at a time, woken by changes and by timers.
// The kind of work decides what a run does and when the next one is due. The main kind, which reconciles instances, stands here as well.
import { type Clock, monotonicTimeOf, wallTimeOf } from "../async/clock.ts";
import { KeyedQueue, type NextRun, type QueuePriority, type QueueStats } from "../async/keyed-queue.ts";
import { type ObjectName, nameKey, nameOfKey } from "../model/resource.ts";
import { progressIntervalMsMin, type ReconcileOutcome, InstanceMemory } from "../run/report.ts";
import { reconcileInstance } from "../run/run.ts";
import type { ReconcilePorts } from "../run/ports.ts";
import type { RunResult } from "../run/facts.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { MeasuredController, ReconcileResult } from "../telemetry/metrics-runtime.ts";

export interface ControllerOptions<Run> {
  /** What one run works with. Called at the start of every run, with the reasons for which the instance was woken. */
  readonly startRun: (instance: ObjectName, reasons: readonly string[]) => Run;
  /** Whether this process works on the instance; on all, if undefined. A run that was planned may no longer concern it. */
  readonly isOwn?: ((instance: ObjectName) => boolean) | undefined;
  readonly clock: Clock;
  readonly random: () => number;
  /** The maximum number of concurrent runs. */
  readonly workers?: number;
  readonly metrics?: Pick<Metrics, "controller"> | undefined;
}

export interface RunOf<Ports> {
  readonly ports: Ports;
  /** Called if the run threw, which is a bug in wafsync. Must not throw. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

export interface Ended extends NextRun {
  readonly result: ReconcileResult;
}

export abstract class Controller<Run extends RunOf<unknown>, Memory> {
  protected readonly queue: KeyedQueue<string>;
  protected readonly memories = new Map<string, Memory>();
  protected readonly clock: Clock;
  readonly #options: ControllerOptions<Run>;
  readonly #measured: MeasuredController | undefined;

  /** @param name the label of the metrics */
  protected constructor(name: string, options: ControllerOptions<Run>) {
    const { clock, random, metrics } = options;
    this.#measured = metrics?.controller(name, () => this.stats());
    this.queue = new KeyedQueue<string>({ clock, random, observer: this.#measured });
    this.clock = clock;
    this.#options = options;
  }

  /** Forgets everything about the instance, as if the process had just started. */
  forget(instance: ObjectName): void {
    this.memories.delete(nameKey(instance));
  }

  known(): readonly ObjectName[] {
    return [...this.memories.keys()].map(nameOfKey);
  }

  stats(): QueueStats {
    return this.queue.stats();
  }

  /** Works until the signal aborts and the current runs have ended. */
  async run(signal: AbortSignal): Promise<void> {
    const { workers = this.workersMax } = this.#options;
    await this.queue.run({ workers, handle: async (key, why) => await this.#handle(key, why) }, signal);
  }

  protected abstract readonly workersMax: number;

  /** When the next run is due; undefined if now. */
  protected restOf(_key: string): NextRun | undefined {
    return undefined;
  }

  protected abstract carryOut(key: string, run: Run, startMs: number): Promise<Ended>;

  async #handle(key: string, reasons: readonly string[]): Promise<NextRun> {
    const { isOwn, startRun } = this.#options;
    const name = nameOfKey(key);
    if (isOwn?.(name) === false) {
      this.forget(name);
      return {};
    }
    const rest = this.restOf(key);
    if (rest !== undefined) return rest;
    const run = startRun(name, reasons);
    const startMs = this.clock.monotonicMs();
    try {
      const ended = await this.carryOut(key, run, startMs);
      this.#measured?.ended(ended.result, this.clock.monotonicMs() - startMs);
      return ended;
    } catch (error) {
      this.#measured?.ended("error", this.clock.monotonicMs() - startMs);
      run.onError?.(error);
      throw error;
    }
  }
}

/** While other instances wait for a worker, a run stops after this number of writes or this time, and continues after them. */
export const turnWritesMax = 200;
export const turnMsMax = 60_000;
/** All runs together report progress on at most one instance per second, to limit the status writes of a large fleet. */
const progressIntervalMsOfRun = 1_000;

/** The result of a run as metrics and the log name it. */
const results: Readonly<Record<RunResult["kind"], ReconcileResult>> = {
  Done: "success",
  Gone: "success",
  Failed: "error",
  Unsettled: "requeue",
  Outdated: "requeue",
  Yielded: "requeue",
  Blocked: "blocked",
  Interrupted: "interrupted",
};

interface InstanceRun extends RunOf<ReconcilePorts> {
  /** Called at the end of the run. Must not throw. */
  readonly onOutcome?: (outcome: ReconcileOutcome, result: ReconcileResult, durationMs: number) => void;
}

interface InstanceControllerOptions extends ControllerOptions<InstanceRun> {
  /** Increases whenever something that concerns the instance has changed. */
  readonly version: (instance: ObjectName) => number;
  /** The initial memory of an instance; empty by default. */
  readonly memoryOf?: ((instance: ObjectName) => InstanceMemory) | undefined;
}

/** Reconciles all instances. Long runs yield to others. */
export class InstanceController extends Controller<InstanceRun, InstanceMemory> {
  /** Runs mostly wait for their WAF, so many may be in progress: a WAF that does not respond holds only the worker of its own run. */
  protected readonly workersMax = 256;
  readonly #options: InstanceControllerOptions;
  /** `untilMs` is a time of the monotonic clock, because the wall clock may be set back. */
  readonly #settled = new Map<string, { readonly version: number; readonly untilMs: number }>();
  #running = 0;

  constructor(options: InstanceControllerOptions) {
    super("instances", options);
    this.#options = options;
  }

  /** Requests a run of the instance, now or as soon as the current one has ended. */
  wake(instance: ObjectName, reason: string, priority: QueuePriority = "Change"): void {
    this.queue.add(nameKey(instance), { priority, reason });
  }

  override forget(instance: ObjectName): void {
    super.forget(instance);
    this.#settled.delete(nameKey(instance));
  }

  protected override restOf(key: string): NextRun | undefined {
    const settled = this.#settled.get(key);
    if (settled === undefined || settled.version !== this.#options.version(nameOfKey(key))) return undefined;
    if (this.clock.monotonicMs() >= settled.untilMs) return undefined;
    return { wakeAtMs: wallTimeOf(this.clock, settled.untilMs) };
  }

  protected async carryOut(key: string, run: InstanceRun, startMs: number): Promise<Ended> {
    const name = nameOfKey(key);
    const isTurnOver: ReconcilePorts["isTurnOver"] = ({ writes, elapsedMs }) =>
      (writes >= turnWritesMax || elapsedMs >= turnMsMax) && this.queue.hasWaiting;
    const progressIntervalMs = (): number => Math.max(progressIntervalMsMin, this.#running * progressIntervalMsOfRun);
    const { memoryOf = () => new InstanceMemory() } = this.#options;
    const memory = this.memories.get(key) ?? memoryOf(name);
    this.memories.set(key, memory);
    const formerBackOff = memory.backOff;
    this.#running += 1;
    try {
      const outcome = await reconcileInstance(name, { ...run.ports, isTurnOver, progressIntervalMs }, memory);
      // A run during the backoff of an earlier one only reports; a run that fails begins a new backoff.
      const [isInBackOff, isSame] = [memory.backOff !== undefined, memory.backOff === formerBackOff];
      const result = isInBackOff && isSame ? "requeue" : results[outcome.result.kind];
      run.onOutcome?.(outcome, result, this.clock.monotonicMs() - startMs);
      return { ...this.#nextRun(key, outcome, isInBackOff && !isSame), result };
    } finally {
      this.#running -= 1;
    }
  }

  #nextRun(key: string, outcome: ReconcileOutcome, hasBegunBackOff: boolean): NextRun {
    const { result, version, wakeAtMs, hasUnwritten = false } = outcome;
    this.#settled.delete(key);
    if (result.kind === "Gone") this.memories.delete(key);
    // A change during the run that the run has already taken into account needs no further run.
    if (result.kind === "Done" && wakeAtMs !== undefined && !hasUnwritten)
      this.#settled.set(key, { version, untilMs: monotonicTimeOf(this.clock, wakeAtMs) });
    const priority = result.kind === "Done" ? "Resync" : "Retry";
    return { wakeAtMs, hasFailed: hasBegunBackOff, mustRetry: hasUnwritten, priority };
  }
}
