// Reconciles all instances with one queue, at most one run of an instance at a time, triggered by changes and by timers.
// Namespaces take turns, long runs yield to others, and a run that waits for a WAF occupies no worker.
import type { BackOff } from "../async/back-off.ts";
import { upwardBackOffDelayMs } from "../async/back-off.ts";
import { type Clock, monotonicTimeOf, wallTimeOf } from "../async/clock.ts";
import { earliest } from "../async/earliest.ts";
import type { QueueObserver, QueueStats } from "../async/keyed-queue.ts";
import { KeyedQueue } from "../async/keyed-queue.ts";
import type { QueuePriority } from "../async/queue-rank.ts";
import type { Park, WorkResult } from "../async/workers.ts";
import { runWorkers } from "../async/workers.ts";
import type { ObjectName } from "../model/resource.ts";
import { nameKey, nameOfKey } from "../model/resource.ts";
import type { ReconcileOutcome } from "../reconcile/converge/finish.ts";
import { reconcileInstance } from "../reconcile/converge/run.ts";
import type { InstanceMemory } from "../reconcile/converge/instance-memory.ts";
import { newInstanceMemory } from "../reconcile/converge/instance-memory.ts";
import { progressIntervalMsMin } from "../reconcile/converge/progress-reporter.ts";
import type { ReconcilePorts } from "../reconcile/ports.ts";
import type { MeasuredReconciles, ReconcileResult } from "../telemetry/metrics-reconciles.ts";
import { parkingPorts } from "./parked-waits.ts";
import { reconcileResult } from "./reconcile-result.ts";

/** Runs mostly wait for the WAF, so many may be in progress; the calls with one key still follow one another. */
const workersDefault = 64;
/** While other instances wait for a worker, a run stops after this number of writes or this time, and continues after them. */
export const turnWritesMax = 200;
export const turnMsMax = 60_000;
/** All runs together report progress on at most one instance per second, to limit the status writes of a large fleet. */
const progressIntervalMsOfRun = 1_000;
/** Each retry for a status that could not be written reads the WAF, so these retries back off. */
const requeueBackOff: BackOff = { baseMs: 5_000, maxMs: 300_000 };

/** What one run works with, created when it starts. */
export interface InstanceRun {
  readonly ports: ReconcilePorts;
  /** Called at the end of the run. Must not throw. */
  readonly onOutcome?: (outcome: ReconcileOutcome, result: ReconcileResult, durationMs: number) => void;
  /** Called if the run threw, which is a bug in wafsync. Must not throw. */
  readonly onError?: (error: unknown) => void;
}

export interface InstanceControllerOptions {
  /** Called at the start of every run, with the reasons for which the instance was woken. */
  readonly startRun: (instance: ObjectName, reasons: readonly string[]) => InstanceRun;
  /** Increases whenever something that concerns the instance has changed. */
  readonly version: (instance: ObjectName) => number;
  /** The initial memory of an instance; empty by default. */
  readonly memoryOf?: (instance: ObjectName) => InstanceMemory;
  /** Whether this process works on the instance; on all, if undefined. A run that was planned may no longer concern it. */
  readonly isOwn?: (instance: ObjectName) => boolean;
  readonly clock: Clock;
  readonly random: () => number;
  readonly workers?: number;
  readonly queueObserver?: QueueObserver;
  readonly measured?: MeasuredReconciles;
}

export class InstanceController {
  readonly #options: InstanceControllerOptions;
  readonly #queue: KeyedQueue<string>;
  /** Instances with a failed status write since their last run. */
  readonly #unwritten = new Set<string>();
  /** How many runs in a row could not write a status. */
  readonly #requeues = new Map<string, number>();
  readonly #memories = new Map<string, InstanceMemory>();
  /** `untilMs` is a time of the monotonic clock, because the wall clock may be set back. */
  readonly #settled = new Map<string, { readonly version: number; readonly untilMs: number }>();
  /** The number of runs in progress. */
  #running = 0;

  constructor(options: InstanceControllerOptions) {
    this.#options = options;
    const { clock, random, queueObserver } = options;
    this.#queue = new KeyedQueue<string>({
      clock,
      random,
      groupOf: (key) => nameOfKey(key).namespace,
      ...(queueObserver === undefined ? {} : { observer: queueObserver }),
    });
  }

  /** Requests a run of the instance, now or as soon as the current one has ended. */
  wake(instance: ObjectName, reason: string, priority: QueuePriority = "Change"): void {
    this.#queue.add(nameKey(instance), { priority, reason });
  }

  /** Requests another run with backoff although nothing has changed, because a status could not be written. */
  requeue(instance: ObjectName, reason: string): void {
    const key = nameKey(instance);
    this.#settled.delete(key);
    if (!this.#unwritten.has(key)) this.#requeues.set(key, (this.#requeues.get(key) ?? 0) + 1);
    this.#unwritten.add(key);
    this.#queue.addAfter(key, this.#requeueDelayMs(key), { priority: "Retry", reason });
  }

  /** Forgets everything about the instance, as if the process had just started. */
  forget(instance: ObjectName): void {
    const key = nameKey(instance);
    this.#memories.delete(key);
    this.#settled.delete(key);
    this.#unwritten.delete(key);
    this.#requeues.delete(key);
  }

  stats(): QueueStats {
    return this.#queue.stats();
  }

  /** Works until the signal aborts and the current runs have ended. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, workers = workersDefault } = this.#options;
    await runWorkers<string>({
      queue: this.#queue,
      clock,
      workers,
      signal,
      handle: async (key, reasons, _signal, park) => await this.#handle(key, reasons, park),
    });
    await this.#queue.shutDown();
  }

  async #handle(key: string, reasons: readonly string[], park: Park): Promise<WorkResult> {
    const { clock, version } = this.#options;
    const name = nameOfKey(key);
    if (this.#options.isOwn?.(name) === false) {
      this.forget(name);
      return { kind: "Stuck" };
    }
    const settled = this.#settled.get(key);
    if (settled !== undefined && settled.version === version(name) && clock.monotonicMs() < settled.untilMs) {
      return { kind: "Settled", wakeAtMs: wallTimeOf(clock, settled.untilMs) };
    }
    return await this.#carryOut(key, name, this.#options.startRun(name, reasons), park);
  }

  async #carryOut(key: string, name: ObjectName, run: InstanceRun, park: Park): Promise<WorkResult> {
    const { clock, measured, memoryOf = newInstanceMemory } = this.#options;
    const { ports: given, onOutcome, onError } = run;
    const isTurnOver: ReconcilePorts["isTurnOver"] = ({ writes, elapsedMs }) =>
      (writes >= turnWritesMax || elapsedMs >= turnMsMax) && this.#queue.hasWaiting;
    const progressIntervalMs = (): number => Math.max(progressIntervalMsMin, this.#running * progressIntervalMsOfRun);
    const ports = { ...parkingPorts(given, park), isTurnOver, progressIntervalMs };
    const memory = this.#memories.get(key) ?? memoryOf(name);
    this.#memories.set(key, memory);
    const formerBackOff = memory.backOff;
    const startMs = clock.monotonicMs();
    let outcome: ReconcileOutcome | undefined;
    this.#running += 1;
    try {
      outcome = await reconcileInstance(name, ports, memory);
    } catch (error) {
      measured?.ended("error", clock.monotonicMs() - startMs);
      onError?.(error);
      throw error;
    } finally {
      this.#running -= 1;
    }
    const durationMs = clock.monotonicMs() - startMs;
    // A run during the backoff of an earlier one only reports; a run that fails begins a new backoff.
    const isBackingOff = memory.backOff !== undefined;
    const isDeferred = isBackingOff && memory.backOff === formerBackOff;
    const result = reconcileResult(outcome.result, isDeferred);
    measured?.ended(result, durationMs);
    onOutcome?.(outcome, result, durationMs);
    return this.#workResult(key, outcome, isBackingOff && !isDeferred);
  }

  #workResult(key: string, outcome: ReconcileOutcome, hasFailed: boolean): WorkResult {
    const { result, version } = outcome;
    const isUnwritten = this.#unwritten.delete(key);
    if (!isUnwritten) this.#requeues.delete(key);
    const requeueAtMs = isUnwritten ? this.#options.clock.nowMs() + this.#requeueDelayMs(key) : undefined;
    const wakeAtMs = earliest(outcome.wakeAtMs, requeueAtMs);
    this.#settled.delete(key);
    if (result.kind === "Gone") this.#memories.delete(key);
    if (wakeAtMs === undefined) return { kind: "Stuck" };
    // A change during the run that the run has already taken into account needs no further run.
    if (result.kind === "Done") {
      this.#settled.set(key, { version, untilMs: monotonicTimeOf(this.#options.clock, wakeAtMs) });
    }
    if (hasFailed || isUnwritten) return { kind: "Failed", wakeAtMs };
    return { kind: "Settled", wakeAtMs, priority: result.kind === "Done" ? "Resync" : "Retry" };
  }

  #requeueDelayMs(key: string): number {
    const attempt = this.#requeues.get(key) ?? 1;
    return upwardBackOffDelayMs({ ...requeueBackOff, attempt, random: this.#options.random });
  }
}
