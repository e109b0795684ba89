// Reports what a run is doing next to its calls: a call of the WAF never waits for a status to be written. One report runs at
// a time, and what is unwritten when the run ends is left to its last report.
import type { DeclaredCacheClear } from "../../model/declared.ts";
import type { RunFacts } from "../facts.ts";
import type { ReconcilePorts } from "../ports.ts";
import type { InstanceMemory } from "./instance-memory.ts";
import { reportClears, reportProgress } from "./report.ts";

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
  /** What was last reported of `waiting`. */
  #reportedWaiting: string | undefined;
  #last: Report | undefined;
  #hasEnded = false;

  constructor(ports: ReconcilePorts, memory: InstanceMemory, beganMs: number) {
    this.#ports = ports;
    this.#memory = memory;
    this.#lastMs = beganMs;
  }

  /** Starts a report if one is due. `factsNow` is called only then. Throws what an earlier report failed with. */
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

  /** Writes the status of some cache clears at once: ahead of a call, and as soon as they are done. */
  async reportClears(clears: readonly DeclaredCacheClear[], factsNow: () => RunFacts): Promise<void> {
    if (clears.length > 0) await reportClears(this.#ports, this.#memory, factsNow(), clears);
  }

  /** Lets a running report end early: from here on, no status of the run is written by it. */
  async end(): Promise<void> {
    this.#hasEnded = true;
    await this.#last?.written;
  }
}
