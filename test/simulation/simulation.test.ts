import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "@jest/globals";
import { caseCount } from "../support/builders/case-count.ts";
import { SimSums } from "../support/simulation/sim-sums.ts";
import { simulateSeed } from "../support/simulation/simulate-seed.ts";

const run = promisify(execFile);
const support = join(import.meta.dirname, "../support/simulation");
const seeds = caseCount(1_000);
const seedsAtOnce = 50;
const sums = new SimSums();

afterAll(() => void process.stdout.write(`\nSimulation: ${sums.describe()}\n`));

async function expectSound(seed: number): Promise<void> {
  const report = await simulateSeed(seed);
  sums.add(report);
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
    expect(one.trace).toStrictEqual(two.trace);
    expect(one.trace.length).toBeGreaterThan(30);
  });

  test("faults happen at many different steps", () => {
    expect(sums.pairs.size).toBeGreaterThan(100);
  });

  test("nothing of a world is left when its seed is over", async () => {
    const { stdout } = await run(process.execPath, ["--no-warnings", join(support, "count-left-worlds.ts")]);
    expect(stdout.trim()).toBe("0");
  });
});
