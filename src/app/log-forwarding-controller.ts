// Forwards the logs of all instances. Instances that do not forward logs cost nothing.
import type { WorkResult } from "../async/workers.ts";
import { type ObjectName, nameKey, nameOfKey } from "../model/resource.ts";
import { type ForwardOutcome, forwardLogs } from "../logs/forward-logs.ts";
import { type ForwardLogsPorts, type ForwardMemory, newForwardMemory } from "../logs/forward-ports.ts";
import { Controller, type ControllerOptions, type Ended } from "./controller.ts";

export interface ForwardRun {
  readonly ports: ForwardLogsPorts;
  /** Called if the run threw, which is a bug in wafsync. Must not throw. */
  readonly onError?: (error: unknown) => void;
}

export interface LogForwardingOptions extends ControllerOptions<ForwardRun> {
  /** Whether the instance forwards logs, or its status says so. Must be cheap, because it is called at every change. */
  readonly concerns: (instance: ObjectName) => boolean;
}

export class LogForwardingController extends Controller<ForwardRun, ForwardMemory> {
  readonly #concerns: LogForwardingOptions["concerns"];

  constructor(options: LogForwardingOptions) {
    // Each run keeps a page or two in memory. A WAF that does not respond holds only the worker of its own run.
    super(options, { name: "logs", workers: 32 });
    this.#concerns = options.concerns;
  }

  /** Call this when something about the instance may have changed. */
  wake(instance: ObjectName, reason: string): void {
    const key = nameKey(instance);
    if (this.memories.has(key) || this.#concerns(instance)) this.queue.add(key, { priority: "Change", reason });
  }

  protected restOf(): undefined {
    return undefined;
  }

  protected async carryOut(key: string, run: ForwardRun): Promise<WorkResult> {
    const memory = this.memories.get(key) ?? newForwardMemory();
    this.memories.set(key, memory);
    const { outcome, result } = await this.measured(run, async () => await forward(nameOfKey(key), run.ports, memory));
    const { isOver, wakeAtMs } = outcome;
    if (isOver) return this.#finish(key, memory);
    if (wakeAtMs === undefined) return { kind: "Stuck" };
    return result === "error" ? { kind: "Failed", wakeAtMs } : { kind: "Settled", wakeAtMs };
  }

  /** Remembers the instance's usage until its hour ends, so that turning forwarding off and on does not reset the limit. */
  #finish(key: string, { usage }: ForwardMemory): WorkResult {
    const wakeAtMs = usage.forgottenAt(this.clock.nowMs());
    if (wakeAtMs === undefined) this.memories.delete(key);
    else this.memories.set(key, newForwardMemory(usage));
    return wakeAtMs === undefined ? { kind: "Stuck" } : { kind: "Settled", wakeAtMs };
  }
}

/** A failure with backoff increases `memory.failures`; any other failure needs a change from outside. */
async function forward(
  name: ObjectName,
  ports: ForwardLogsPorts,
  memory: ForwardMemory,
): Promise<Ended<ForwardOutcome>> {
  const { failures } = memory;
  let hasFailed = false;
  const failed: ForwardLogsPorts["observer"]["failed"] = (instance, reason, fault) => {
    hasFailed = true;
    ports.observer.failed?.(instance, reason, fault);
  };
  const outcome = await forwardLogs(name, { ...ports, observer: { ...ports.observer, failed } }, memory);
  return { outcome, result: memory.failures > failures ? "error" : hasFailed ? "blocked" : "success" };
}
