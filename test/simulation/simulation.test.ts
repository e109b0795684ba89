import { afterAll, describe, expect, test } from "@jest/globals";
import { caseCount } from "../support/builders/case-count.ts";
import { simulateSeed } from "../support/simulation/simulate-seed.ts";

const seeds = caseCount(1_500);
const seedsAtOnce = 50;
const sums = { steps: 0, calls: 0, faults: 0, kills: 0, processes: 0 };
let callsToSettleMax = 0;

afterAll(() => {
  process.stdout.write(
    `\nSimulation: ${seeds} seeds, ${sums.steps} steps, ${sums.calls} calls of the WAF, ${sums.faults} faults, ` +
      `${sums.kills} kills, ${sums.processes} processes; the declared state within ${callsToSettleMax} calls.\n`,
  );
});

async function expectSound(seed: number): Promise<void> {
  const report = await simulateSeed(seed);
  for (const name of Object.keys(sums) as (keyof typeof sums)[]) sums[name] += report[name];
  callsToSettleMax = Math.max(callsToSettleMax, report.callsToSettle);
  if (report.violations.length === 0) return;
  const said = report.violations.join("\n");
  throw new Error(`seed ${seed}: ${said}\n\n${report.trace.join("\n")}\n\nAgain: npm run simulate -- --seed ${seed}`);
}

describe("Whatever people, networks and crashes do", () => {
  test.each(Array.from({ length: seeds / seedsAtOnce }, (_, part) => part * seedsAtOnce))(
    "nothing is lost or removed by mistake, and the declared state is reached (50 seeds from %d)",
    async (first) => {
      for (let seed = first; seed < first + seedsAtOnce; seed += 1) await expectSound(seed);
    },
  );

  test("a seed gives the same life each time", async () => {
    const [one, two] = [await simulateSeed(7), await simulateSeed(7)];
    expect(one.trace).toEqual(two.trace);
    expect(one.trace.length).toBeGreaterThan(30);
  });
});
