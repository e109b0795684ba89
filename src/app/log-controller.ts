// The log controller, and what it works with in a folder. `run` loads this with the first WafAutoBlock.
import { autoBlockPublisher, type BlockBook } from "../blocks/block-book.ts";
import type { ChangeSignal } from "../async/change-signal.ts";
import type { Clock } from "../async/clock.ts";
import { forwardLogs } from "../logs/forward-logs.ts";
import { type ForwardLogsPorts, type ForwardMemory, newForwardMemory } from "../logs/forward-ports.ts";
import type { LogRecords } from "../logs/log-records.ts";
import type { Gathered } from "../model/gathered.ts";
import { type ObjectName, nameKey, nameOfKey } from "../model/resource.ts";
import type { DirectorySource } from "../source/directory/directory-source.ts";
import { Controller, type ControllerOptions, type Ended, type RunOf } from "./controller.ts";
import type { portsOf } from "./ports.ts";
import type { WafClients } from "./waf-clients.ts";

interface LogControllerOptions extends ControllerOptions<RunOf<ForwardLogsPorts>> {
  /** Whether the instance forwards logs, or its status says so. Must be cheap, because it is called at every change. */
  readonly concerns: (instance: ObjectName) => boolean;
}

/** Reads, judges and forwards the logs of all instances. Others cost nothing. */
export class LogController extends Controller<RunOf<ForwardLogsPorts>, ForwardMemory> {
  /** Each run keeps a page or two in memory. A WAF that does not respond holds only the worker of its own run. */
  protected readonly workersMax = 32;
  readonly #concerns: LogControllerOptions["concerns"];

  constructor(options: LogControllerOptions) {
    super("logs", options);
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

  /** A failure with backoff increases `memory.failures`; any other failure needs a change from outside. */
  protected async carryOut(key: string, { ports }: RunOf<ForwardLogsPorts>): Promise<Ended> {
    const memory = this.memories.get(key) ?? newForwardMemory();
    this.memories.set(key, memory);
    const { failures } = memory;
    let hasFailed = false;
    const failed: ForwardLogsPorts["observer"]["failed"] = (instance, reason, fault) => {
      hasFailed = true;
      ports.observer.failed?.(instance, reason, fault);
    };
    const observer = { ...ports.observer, failed };
    const { isOver, wakeAtMs } = await forwardLogs(nameOfKey(key), { ...ports, observer }, memory);
    if (isOver) return { wakeAtMs: this.#finish(key, memory), result: hasFailed ? "blocked" : "success" };
    if (memory.failures > failures) return { wakeAtMs, hasFailed: true, result: "error" };
    return { wakeAtMs, result: hasFailed ? "blocked" : "success" };
  }

  /** Remembers the instance's usage until its hour ends, so that turning forwarding off and on does not reset the limit. */
  #finish(key: string, { usage }: ForwardMemory): number | undefined {
    const wakeAtMs = usage.forgottenAt(this.clock.nowMs());
    if (wakeAtMs === undefined) this.memories.delete(key);
    else this.memories.set(key, newForwardMemory(usage));
    return wakeAtMs;
  }
}

export interface JudgingOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly source: DirectorySource;
  /** The ports of reconcile runs. The entries of feeds are included, because allowed addresses are never blocked. */
  readonly ports: Pick<ReturnType<typeof portsOf>, "fed" | "status" | "baseUrlObjection">;
  readonly records: LogRecords;
  readonly wafClients: WafClients;
  readonly book: BlockBook;
  /** Notified when the files have changed. */
  readonly changed: ChangeSignal;
}

export async function judgeLogs(options: JudgingOptions, signal: AbortSignal): Promise<void> {
  const { source, clock, random, changed } = options;
  const ports = judgingPorts(options, signal);
  const controller = new LogController({
    startRun: () => ({ ports }),
    concerns: (instance) => {
      return source.snapshot().declared.WafAutoBlock.some((block) => nameKey(block.instance) === nameKey(instance));
    },
    clock,
    random,
  });
  const running = controller.run(signal);
  while (!signal.aborted) {
    const { version } = changed;
    for (const instance of source.instances()) controller.wake(instance, "files changed");
    await changed.wait(version, signal);
  }
  await running;
}

function judgingPorts(
  { ports, records, wafClients, clock, random, book }: JudgingOptions,
  stopping: AbortSignal,
): ForwardLogsPorts {
  const { fed, status, baseUrlObjection } = ports;
  return {
    source: { gather: async (instance) => withoutForwarding(await fed.gather(instance)) },
    baseUrlObjection,
    // Only forwarded rows need a domain.
    domainOf: () => "",
    openLogs: (instance, key) => wafClients.open(instance, key),
    outputOf: () => ({ write: async () => "In a directory, logs are not forwarded." }),
    records,
    blocks: autoBlockPublisher(book, status),
    status: {
      read: (meta) => status.read(meta),
      event: (meta, event) => status.event(meta, event),
      update: async () => undefined,
    },
    clock,
    random,
    mayForward: () => !stopping.aborted,
    stopping,
    observer: {},
  };
}

/** In a directory, logs are only judged: `wafsync logs` prints them. */
function withoutForwarding(gathered: Gathered | undefined): Gathered | undefined {
  if (gathered === undefined) return undefined;
  const { instance } = gathered;
  return { ...gathered, instance: { ...instance, logs: { ...instance.logs, enabled: false } } };
}
