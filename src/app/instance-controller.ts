// Reconciles all instances. Long runs yield to others.
import { type BackOff, upwardBackOffDelayMs } from "../async/back-off.ts";
import { monotonicTimeOf, wallTimeOf } from "../async/clock.ts";
import { earliest } from "../async/earliest.ts";
import type { QueuePriority } from "../async/keyed-queue.ts";
import type { WorkResult } from "../async/workers.ts";
import { type ObjectName, nameKey, nameOfKey } from "../model/resource.ts";
import type { ReconcileOutcome } from "../reconcile/converge/finish.ts";
import { type InstanceMemory, newInstanceMemory } from "../reconcile/converge/instance-memory.ts";
import { progressIntervalMsMin } from "../reconcile/converge/progress-reporter.ts";
import { reconcileInstance } from "../reconcile/converge/run.ts";
import type { ReconcilePorts } from "../reconcile/ports.ts";
import type { RunResult } from "../reconcile/run-result.ts";
import type { ReconcileResult } from "../telemetry/metrics-runtime.ts";
import { Controller, type ControllerOptions } from "./controller.ts";

/** Runs mostly wait for their WAF, so many may be in progress: a WAF that does not respond holds only the worker of its own run. */
const workers = 256;
/** While other instances wait for a worker, a run stops after this number of writes or this time, and continues after them. */
export const turnWritesMax = 200;
export const turnMsMax = 60_000;
/** All runs together report progress on at most one instance per second, to limit the status writes of a large fleet. */
const progressIntervalMsOfRun = 1_000;
/** Each retry for a status that could not be written reads the WAF, so these retries back off. */
const requeueBackOff: BackOff = { baseMs: 5_000, maxMs: 300_000 };

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

export interface InstanceRun {
  readonly ports: ReconcilePorts;
  /** Called at the end of the run. Must not throw. */
  readonly onOutcome?: (outcome: ReconcileOutcome, result: ReconcileResult, durationMs: number) => void;
  /** Called if the run threw, which is a bug in wafsync. Must not throw. */
  readonly onError?: (error: unknown) => void;
}

export interface InstanceControllerOptions extends ControllerOptions<InstanceRun> {
  /** Increases whenever something that concerns the instance has changed. */
  readonly version: (instance: ObjectName) => number;
  /** The initial memory of an instance; empty by default. */
  readonly memoryOf?: (instance: ObjectName) => InstanceMemory;
}

export class InstanceController extends Controller<InstanceRun, InstanceMemory> {
  readonly #options: InstanceControllerOptions;
  /** Instances with a failed status write since their last run. */
  readonly #unwritten = new Set<string>();
  /** How many runs in a row could not write a status. */
  readonly #requeues = new Map<string, number>();
  /** `untilMs` is a time of the monotonic clock, because the wall clock may be set back. */
  readonly #settled = new Map<string, { readonly version: number; readonly untilMs: number }>();
  /** The number of runs in progress. */
  #running = 0;

  constructor(options: InstanceControllerOptions) {
    super(options, { name: "instances", workers });
    this.#options = options;
  }

  /** Requests a run of the instance, now or as soon as the current one has ended. */
  wake(instance: ObjectName, reason: string, priority: QueuePriority = "Change"): void {
    this.queue.add(nameKey(instance), { priority, reason });
  }

  /** Requests another run with backoff although nothing has changed, because a status could not be written. */
  requeue(instance: ObjectName, reason: string): void {
    const key = nameKey(instance);
    this.#settled.delete(key);
    if (!this.#unwritten.has(key)) this.#requeues.set(key, (this.#requeues.get(key) ?? 0) + 1);
    this.#unwritten.add(key);
    this.queue.addAfter(key, this.#requeueDelayMs(key), { priority: "Retry", reason });
  }

  override forget(instance: ObjectName): void {
    super.forget(instance);
    const key = nameKey(instance);
    this.#settled.delete(key);
    this.#unwritten.delete(key);
    this.#requeues.delete(key);
  }

  protected restOf(key: string): WorkResult | undefined {
    const settled = this.#settled.get(key);
    if (settled === undefined || settled.version !== this.#options.version(nameOfKey(key))) return undefined;
    if (this.clock.monotonicMs() >= settled.untilMs) return undefined;
    return { kind: "Settled", wakeAtMs: wallTimeOf(this.clock, settled.untilMs) };
  }

  protected async carryOut(key: string, run: InstanceRun): Promise<WorkResult> {
    const name = nameOfKey(key);
    const isTurnOver: ReconcilePorts["isTurnOver"] = ({ writes, elapsedMs }) =>
      (writes >= turnWritesMax || elapsedMs >= turnMsMax) && this.queue.hasWaiting;
    const progressIntervalMs = (): number => Math.max(progressIntervalMsMin, this.#running * progressIntervalMsOfRun);
    const ports = { ...run.ports, isTurnOver, progressIntervalMs };
    const { memoryOf = newInstanceMemory } = this.#options;
    const memory = this.memories.get(key) ?? memoryOf(name);
    this.memories.set(key, memory);
    const formerBackOff = memory.backOff;
    this.#running += 1;
    const ended = await this.measured(run, async () => {
      try {
        const outcome = await reconcileInstance(name, ports, memory);
        // A run during the backoff of an earlier one only reports; a run that fails begins a new backoff.
        const isDeferred = memory.backOff !== undefined && memory.backOff === formerBackOff;
        return { outcome, result: isDeferred ? ("requeue" as const) : results[outcome.result.kind] };
      } finally {
        this.#running -= 1;
      }
    });
    run.onOutcome?.(ended.outcome, ended.result, ended.durationMs);
    return this.#workResult(key, ended.outcome, memory.backOff !== undefined && memory.backOff !== formerBackOff);
  }

  #workResult(key: string, outcome: ReconcileOutcome, hasFailed: boolean): WorkResult {
    const { result, version } = outcome;
    const isUnwritten = this.#unwritten.delete(key);
    if (!isUnwritten) this.#requeues.delete(key);
    const requeueAtMs = isUnwritten ? this.clock.nowMs() + this.#requeueDelayMs(key) : undefined;
    const wakeAtMs = earliest(outcome.wakeAtMs, requeueAtMs);
    this.#settled.delete(key);
    if (result.kind === "Gone") this.memories.delete(key);
    if (wakeAtMs === undefined) return { kind: "Stuck" };
    // A change during the run that the run has already taken into account needs no further run.
    if (result.kind === "Done") {
      this.#settled.set(key, { version, untilMs: monotonicTimeOf(this.clock, wakeAtMs) });
    }
    if (hasFailed || isUnwritten) return { kind: "Failed", wakeAtMs };
    return { kind: "Settled", wakeAtMs, priority: result.kind === "Done" ? "Resync" : "Retry" };
  }

  #requeueDelayMs(key: string): number {
    const attempt = this.#requeues.get(key) ?? 1;
    return upwardBackOffDelayMs({ ...requeueBackOff, attempt, random: this.#options.random });
  }
}
