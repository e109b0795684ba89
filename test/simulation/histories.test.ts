// Histories that a seed once found, by the number of the seed.
import { describe, expect, test } from "@jest/globals";
import { anInstance, anOrigin } from "../support/builders/declare.ts";
import { initialFeedState } from "../../src/feeds/feed-state.ts";
import { playScenario } from "../support/simulation/crash-points.ts";
import type { Scenario } from "../support/simulation/scenarios.ts";
import { simKey, SimWorld } from "../support/simulation/sim-world.ts";

/** An origin was left on the WAF, and is declared again with another type: the API refuses it, and shows nothing of it. */
const declaredAgain: Scenario = {
  name: "a host that was left as an alternate origin is declared again as a backup",
  leftHost: "a.example",
  change: (cluster) => cluster.put("origins", anOrigin("a.example", { type: "Backup" })),
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

  test("20061: content is judged by the guards with which its fetch began, and by the new ones at the next fetch", async () => {
    let held = 0;
    for (let seed = 0; seed < 10; seed += 1) {
      const world = new SimWorld({ seed, hasFeeds: true });
      world.cluster.change({ key: simKey });
      world.cluster.put("instances", anInstance());
      const process = world.startProcess();
      world.feeds.onChange = () => process.seeFeeds();
      const threats = { namespace: "edge", name: "threats" };
      await world.time.advance(60_000);
      let isEdited = false;
      world.kills = (where) => {
        if (where === "before fetch of threats" && !isEdited) {
          isEdited = true;
          world.feeds.settle();
        }
        const stored = where === "after save of threats" ? world.feeds.load(process, threats) : undefined;
        if (stored?.ok === true && stored.state?.held !== undefined) held += 1;
        return false;
      };
      await world.time.advance(3_600_000);
      world.feeds.expectCurrent();
      expect({ seed, isEdited, violations: world.ledger.violations }).toStrictEqual({
        seed,
        isEdited: true,
        violations: [],
      });
      await world.discard();
    }
    expect(held).toBeGreaterThan(0);
  });

  test("20061: a fetch with guards that were replaced long ago, and good content that is not taken, are noticed", async () => {
    const world = new SimWorld({ seed: 0, hasFeeds: true });
    const process = world.startProcess();
    // It does nothing by itself.
    process.kill();
    const [strict] = world.feeds.declared();
    world.feeds.settle();
    world.feeds.ask(process, strict!);
    expect(world.ledger.violations).toStrictEqual([]);
    await world.time.advance(30_000);
    world.feeds.ask(process, strict!);
    world.feeds.save(process, strict!.meta, initialFeedState(strict!));
    expect(world.ledger.violations).toStrictEqual([
      "edge/threats is fetched with guards that were replaced long ago",
      "edge/threats: good content was not taken",
    ]);
    await world.discard();
  });
});
