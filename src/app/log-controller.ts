// Reads, judges and forwards the logs of instances.
import type { BlockBook } from "../blocks/block-book.ts";
import { forwardLogs } from "../logs/forward-logs.ts";
import { ForwardMemory, type ForwardLogsPorts } from "../logs/forward-ports.ts";
import { LogRecords } from "../logs/log-records.ts";
import { type ObjectName, nameKey, nameOfKey } from "../model/resource.ts";
import { Controller, type ControllerOptions, type Ended, type RunOf } from "./controller.ts";
import type { Work } from "./work.ts";

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

  /** A failure with backoff increases `memory.failures`; any other failure needs a change from outside. */
  protected async carryOut(key: string, { ports }: RunOf<ForwardLogsPorts>): Promise<Ended> {
    const memory = this.memories.get(key) ?? new ForwardMemory();
    this.memories.set(key, memory);
    const { failures } = memory;
    let hasFailed = false;
    const failed: ForwardLogsPorts["observer"]["failed"] = (instance, reason, fault) => {
      hasFailed = true;
      ports.observer.failed?.(instance, reason, fault);
    };
    const observer = { ...ports.observer, failed };
    const { wakeAtMs } = await forwardLogs(nameOfKey(key), { ...ports, observer }, memory);
    if (memory.failures > failures) return { wakeAtMs, hasFailed: true, result: "error" };
    return { wakeAtMs, result: hasFailed ? "blocked" : "success" };
  }
}

/** @param book the results for automatic blocks */
export function openLogs(work: Work, book: BlockBook): LogController {
  const { place, options, ports, fed } = work;
  const { clock, random, logRowsMax, stopping } = options;
  const { outputOf, mayWrite } = place;
  const records = new LogRecords(place.records);
  return new LogController({
    ...place,
    startRun: (instance, reasons) => {
      const { status, logObserver, onError } = work.startRun(instance, reasons);
      return {
        onError,
        ports: {
          clock,
          random,
          source: fed,
          baseUrlObjection: ports.baseUrlObjection,
          domainOf: (name) => work.domainOf(name),
          openLogs: work.open,
          outputOf,
          records,
          blocks: book,
          rowsMax: logRowsMax,
          status,
          mayForward: () => mayWrite().permitted,
          stopping: stopping.stop,
          observer: logObserver,
        },
      };
    },
    concerns: place.readsLogs,
    clock,
    random,
  });
}
