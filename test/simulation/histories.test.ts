// Histories that a seed once found, by the number of the seed.
import { describe, expect, test } from "@jest/globals";
import { anInstance, anOrigin } from "../support/builders/declare.ts";
import { playScenario } from "../support/simulation/crash-points.ts";
import type { Scenario } from "../support/simulation/scenarios.ts";

/** An origin was left on the WAF, and is declared again with another type: the API refuses it, and shows nothing of it. */
const declaredAgain: Scenario = {
  name: "a host that was left as an alternate origin is declared again as a backup",
  before: (world) => {
    world.cluster.put("instances", anInstance({ meta: { uid: "uid-shop" } }));
    world.waf.origins.set("a.example", "alternate");
  },
  change: (world) => world.cluster.put("origins", anOrigin("a.example", { type: "Backup" })),
};

describe("What a seed once found", () => {
  test("1008103: an origin of unknown type counts as added only with a warning, wherever the process is killed", async () => {
    const undisturbed = await playScenario(declaredAgain, undefined);
    expect(undisturbed.state).toContain('"ownedOrigins": []');
    expect(undisturbed.trace.join("\n")).not.toContain("AddedUnconfirmed");
    let added = 0;
    for (let point = 0; point < undisturbed.points.length; point += 1) {
      const { state, trace, violations } = await playScenario(declaredAgain, point);
      const isAdded = !state.includes('"ownedOrigins": []');
      const isTold = trace.some((line) => line.includes("AddedUnconfirmed"));
      const where = undisturbed.points[point];
      expect({ where, isTold, violations }).toStrictEqual({ where, isTold: isAdded, violations: [] });
      added += isAdded ? 1 : 0;
    }
    expect(added).toBeGreaterThan(0);
  });
});
