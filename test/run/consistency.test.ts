// A WAF whose lists show a write with a delay, and writes that take effect after they timed out.
import { expect, test } from "@jest/globals";
import { addresses, blocking } from "../support/builders/declare.ts";
import { ConvergeWorld, converged } from "../support/worlds/converge-world.ts";

const [one = ""] = addresses(1);
const timedOut = { code: "OutcomeUnknown", message: "No answer came within 10 s." } as const;

/** A world with an added entry whose rule has been deleted. */
async function worldAfter(): Promise<ConvergeWorld> {
  const world = await converged({ rules: [blocking("feed", [one])] });
  world.declare({ rules: [] });
  return world;
}

test("An addition that takes effect after its timeout is managed, and removed if its rule was deleted before", async () => {
  const world = new ConvergeWorld({ declared: { rules: [blocking("feed", [one])] } });
  world.waf.failOn({ on: "AddEntry", effect: "Before", fault: timedOut });
  world.at("AddEntry", 1, () => world.declare({ rules: [] }));
  await world.pass();
  expect(world.waf.lists.blocklist).toStrictEqual([]);
  await world.clock.advance(2_000);
  world.waf.lists.blocklist.push(one);
  await world.passAfter(3_000);
  expect(world.waf.lists.blocklist).toStrictEqual([]);
  await world.lookAgain();
  expect(world.owned().entries.blocklist.size).toBe(0);
});

test("The record of a removed entry is dropped by one more run, which the first one requests, with three reads and one save", async () => {
  const world = await worldAfter();
  const { result, wakeAtMs } = await world.pass();
  expect(result).toStrictEqual({ kind: "Done" });
  expect(world.status.condition(world.instance, "Ready")).toBe("True Synced");
  expect(wakeAtMs).toBeGreaterThan(world.clock.nowMs());
  expect((wakeAtMs ?? 0) - world.clock.nowMs()).toBeLessThanOrEqual(5_000);
  await world.sleepUntil(wakeAtMs);
  world.journal.length = 0;
  const after = await world.pass();
  expect(world.owned().entries.blocklist.size).toBe(0);
  expect(world.journal).toStrictEqual([
    "ReadOrigins",
    "ReadList blocklist",
    "ReadList allowlist",
    "ReadOrigins",
    "saved",
  ]);
  expect((after.wakeAtMs ?? 0) - world.clock.nowMs()).toBe(300_000);
});
