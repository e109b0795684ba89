// Reports the progress of a run in parallel with its calls, so that no call of the WAF waits for a status to be written. Only one
// report runs at a time. Statuses that are unwritten when the run ends are left to its final report.
import type { RunFacts } from "./facts.ts";
import type { ReconcilePorts } from "./ports.ts";
import type { InstanceMemory } from "./instance-memory.ts";
import { reportProgress } from "./report.ts";

/** The shortest time between two reports of one run. */
export const progressIntervalMsMin = 2_000;

interface Report {
  readonly written: Promise<void>;
  isWritten: boolean;
}

export class ProgressReporter {
  /** Why the run is waiting at the moment. */
  waiting: string | undefined;
  readonly #ports: ReconcilePorts;
  readonly #memory: InstanceMemory;
  #lastMs: number;
  /** The last reported value of `waiting`. */
  #reportedWaiting: string | undefined;
  #last: Report | undefined;
  #hasEnded = false;

  constructor(ports: ReconcilePorts, memory: InstanceMemory, beganMs: number) {
    this.#ports = ports;
    this.#memory = memory;
    this.#lastMs = beganMs;
  }

  /** Starts a report if one is due, and calls `factsNow` only then. Throws the error of an earlier report that failed. */
  async report(factsNow: () => RunFacts): Promise<void> {
    const nowMs = this.#ports.clock.monotonicMs();
    const intervalMs = this.#ports.progressIntervalMs?.() ?? progressIntervalMsMin;
    if (nowMs - this.#lastMs < intervalMs || this.#last?.isWritten === false) return;
    await this.#last?.written;
    this.#lastMs = nowMs;
    const toAll = this.waiting !== this.#reportedWaiting;
    this.#reportedWaiting = this.waiting;
    const goesOn = (): boolean => !this.#hasEnded && !this.#ports.stopping.aborted;
    const written = reportProgress(this.#ports, this.#memory, factsNow(), { toAll, goesOn });
    const report: Report = { written, isWritten: false };
    const note = (): void => void (report.isWritten = true);
    written.then(note, note);
    this.#last = report;
  }

  /** Ends a running report early. Afterwards, it writes no further status. */
  async end(): Promise<void> {
    this.#hasEnded = true;
    await this.#last?.written;
  }
}
