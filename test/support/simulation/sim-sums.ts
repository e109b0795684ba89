// Summarizes the results of many seeds, for `npm run simulate` and the suite.
import type { SeedReport } from "./simulate-seed.ts";

const summed = ["steps", "calls", "faults", "kills", "jumps", "processes", "simulatedMs"] as const;

export class SimSums {
  #seeds = 0;
  #callsToSettleMax = 0;
  readonly #sums: Record<(typeof summed)[number], number> = {
    steps: 0,
    calls: 0,
    faults: 0,
    kills: 0,
    jumps: 0,
    processes: 0,
    simulatedMs: 0,
  };
  readonly #pairs = new Set<string>();

  add(report: SeedReport): void {
    this.#seeds += 1;
    for (const name of summed) this.#sums[name] += report[name];
    this.#callsToSettleMax = Math.max(this.#callsToSettleMax, report.callsToSettle);
    for (const pair of report.pairs) this.#pairs.add(pair);
  }

  get pairs(): ReadonlySet<string> {
    return this.#pairs;
  }

  describe(): string {
    const { steps, calls, faults, kills, jumps, processes, simulatedMs } = this.#sums;
    const hours = Math.round(simulatedMs / 3_600_000);
    return (
      `${this.#seeds} seeds, ${hours} simulated hours, ${steps} steps, ${calls} calls, ${faults} faults, ${kills} kills, ` +
      `${jumps} clock jumps, ${processes} processes; at most ${this.#callsToSettleMax} calls to the declared state; ` +
      `${this.#pairs.size} pairs of a fault and a step.`
    );
  }
}
