// Long: `npm run test:deploy` runs it.
import { afterAll, describe, expect, test } from "@jest/globals";
import { playScenario } from "../support/simulation/crash-points.ts";
import { scenarios } from "../support/simulation/scenarios.ts";

const counts: string[] = [];
afterAll(() => void process.stdout.write(`\nCrash points: ${counts.join(", ")}.\n`));

describe("A process that is killed at any moment", () => {
  test.each(scenarios.map((scenario) => [scenario.name, scenario] as const))(
    "while %s ends in the same state as one that is not",
    async (name, scenario) => {
      const undisturbed = await playScenario(scenario, undefined);
      expect(undisturbed.violations).toStrictEqual([]);
      const points = undisturbed.points.length;
      counts.push(`${name} ${points}`);
      expect(points).toBeGreaterThan(10);
      for (let point = 0; point < points; point += 1) {
        const killed = await playScenario(scenario, point);
        const where = `killed ${killed.points[point] ?? "nowhere"} (${point})\n${killed.trace.join("\n")}`;
        expect({ where, state: killed.state, violations: killed.violations }).toStrictEqual({
          where,
          state: undisturbed.state,
          violations: [],
        });
        // No write is repeated that took effect, but for a clear, which is harmless.
        expect({ where, writes: repeated(killed.writes) }).toStrictEqual({ where, writes: [] });
        expect(killed.clears).toBeLessThanOrEqual(undisturbed.clears + 1);
      }
    },
  );
});

function repeated(writes: readonly string[]): string[] {
  return writes.filter((write, index) => !write.endsWith("/clear") && writes.indexOf(write) !== index);
}
