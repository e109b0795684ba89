// Keeps all instances converged: one queue of instances, one pass of an instance at a time, woken by changes and by time.
import type { BackOff } from "../async/back-off.ts";
import { upwardBackOffDelayMs } from "../async/back-off.ts";
import type { Clock } from "../async/clock.ts";
import type { QueueObserver, QueuePriority, QueueStats } from "../async/keyed-queue.ts";
import { KeyedQueue } from "../async/keyed-queue.ts";
import type { WorkResult } from "../async/workers.ts";
import { runWorkers } from "../async/workers.ts";
import type { ObjectName } from "../model/resource.ts";
import { nameKey } from "../model/resource.ts";
import type { ConvergeOutcome } from "../reconcile/converge/run.ts";
import { convergeInstance } from "../reconcile/converge/run.ts";
import type { InstanceMemory } from "../reconcile/converge/instance-memory.ts";
import { newInstanceMemory } from "../reconcile/converge/instance-memory.ts";
import type { ConvergePorts } from "../reconcile/ports.ts";

/** Passes wait for the WAF most of the time, so there may be many; each key's calls stay one after another. */
const workersDefault = 64;
/** A pass reads the WAF, so one that is only for what could not be written comes more and more seldom. */
const lookAgainBackOff: BackOff = { baseMs: 5_000, maxMs: 300_000 };

export interface InstanceControllerOptions {
  readonly ports: ConvergePorts;
  readonly clock: Clock;
  readonly random: () => number;
  readonly workers?: number;
  readonly queueObserver?: QueueObserver;
  /** Told of the end of every pass. Must not throw. */
  readonly onOutcome?: (instance: ObjectName, outcome: ConvergeOutcome, durationMs: number) => void;
  /** Told of a pass that threw, which is a defect of wafsync. */
  readonly onError?: (instance: string, error: unknown) => void;
}

export class InstanceController {
  readonly #options: InstanceControllerOptions;
  readonly #queue: KeyedQueue<string>;
  readonly #unsettled = new Set<string>();
  /** How often in a row something could not be written. */
  readonly #looksAgain = new Map<string, number>();
  readonly #memories = new Map<string, InstanceMemory>();
  readonly #settled = new Map<string, { readonly version: number; readonly untilMs: number }>();

  constructor(options: InstanceControllerOptions) {
    this.#options = options;
    const { clock, random, queueObserver } = options;
    this.#queue = new KeyedQueue<string>({
      clock,
      random,
      ...(queueObserver === undefined ? {} : { observer: queueObserver }),
    });
  }

  /** Asks for a pass over the instance, now or as soon as the one that runs has ended. */
  wake(instance: ObjectName, reason: string, priority: QueuePriority = "Change"): void {
    this.#queue.add(nameKey(instance), { priority, reason });
  }

  /** Asks for a pass soon after the one that runs, although nothing is declared anew: something could not be written. */
  lookAgain(instance: ObjectName, reason: string): void {
    const key = nameKey(instance);
    this.#settled.delete(key);
    if (!this.#unsettled.has(key)) this.#looksAgain.set(key, (this.#looksAgain.get(key) ?? 0) + 1);
    this.#unsettled.add(key);
    this.#queue.addAfter(key, this.#lookAgainMs(key), { priority: "Retry", reason });
  }

  stats(): QueueStats {
    return this.#queue.stats();
  }

  /** Works until the signal aborts and the passes that run have ended. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, workers = workersDefault, onError } = this.#options;
    await runWorkers<string>({
      queue: this.#queue,
      clock,
      workers,
      signal,
      handle: async (key, reasons) => await this.#handle(key, reasons),
      onRetry: (key, _delayMs, error) => onError?.(key, error),
    });
    await this.#queue.shutDown();
  }

  async #handle(key: string, reasons: readonly string[]): Promise<WorkResult> {
    const { ports, clock, onOutcome } = this.#options;
    const name = parseName(key);
    const settled = this.#settled.get(key);
    const isNews = settled?.version !== ports.source.version(name) || clock.nowMs() >= settled.untilMs;
    if (settled !== undefined && !isNews && !reasons.includes("resync")) {
      return { kind: "Settled", wakeAtMs: settled.untilMs };
    }
    const memory = this.#memories.get(key) ?? newInstanceMemory();
    this.#memories.set(key, memory);
    const startMs = clock.monotonicMs();
    const outcome = await convergeInstance(name, ports, memory);
    onOutcome?.(name, outcome, clock.monotonicMs() - startMs);
    return this.#workResult(key, outcome);
  }

  #workResult(key: string, outcome: ConvergeOutcome): WorkResult {
    const { end, version } = outcome;
    const isUnsettled = this.#unsettled.delete(key);
    if (!isUnsettled) this.#looksAgain.delete(key);
    const lookAgainAtMs = isUnsettled ? this.#options.clock.nowMs() + this.#lookAgainMs(key) : undefined;
    const wakeAtMs = earliest(outcome.wakeAtMs, lookAgainAtMs);
    this.#settled.delete(key);
    if (end.end === "Gone") this.#memories.delete(key);
    if (wakeAtMs === undefined) return { kind: "Stuck" };
    if (end.end !== "Done") return { kind: "Settled", wakeAtMs, priority: "Retry" };
    // A change that came while the pass ran, and that the pass has taken in, needs no pass of its own.
    this.#settled.set(key, { version, untilMs: wakeAtMs });
    return { kind: "Settled", wakeAtMs, priority: "Resync" };
  }

  #lookAgainMs(key: string): number {
    const attempt = this.#looksAgain.get(key) ?? 1;
    return upwardBackOffDelayMs({ ...lookAgainBackOff, attempt, random: this.#options.random });
  }
}

function earliest(left: number | undefined, right: number | undefined): number | undefined {
  return left === undefined || right === undefined ? (left ?? right) : Math.min(left, right);
}

function parseName(key: string): ObjectName {
  const slash = key.indexOf("/");
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
