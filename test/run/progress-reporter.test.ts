import { describe, expect, test } from "@jest/globals";
import { addresses, blocking } from "../support/builders/declare.ts";
import { ConvergeWorld } from "../support/worlds/converge-world.ts";

/** One rule with one address for each number. */
function manyRules(count: number) {
  return addresses(count).map((address, index) => blocking(`rule-${index}`, [address]));
}

/** From the first call of the WAF on, writing a status takes this long. */
function slowStatus(world: ConvergeWorld, delayMs: number): void {
  const write = world.status.write.bind(world.status);
  world.status.write = async (object, status) => {
    if (world.waf.calls.length > 0) await world.clock.sleep(delayMs);
    await write(object, status);
  };
}

describe("Progress", () => {
  test("is reported in parallel with the calls: no call waits for a status to be written", async () => {
    const world = new ConvergeWorld({ declared: { rules: manyRules(60) }, latencyMs: 100 });
    slowStatus(world, 1_000);
    world.begin();
    await world.clock.advanceUntil(() => world.waf.lists.blocklist.length === 60, 60_000);
    const [first, last] = [world.waf.calls[0]?.atMs ?? 0, world.waf.calls.at(-1)?.atMs ?? 0];
    expect(last - first).toBeLessThan(7_000);
  });

  test("ends with the run, so that the final report is the last one", async () => {
    const world = new ConvergeWorld({ declared: { rules: manyRules(60) }, latencyMs: 100 });
    slowStatus(world, 1_000);
    await world.pass();
    const ready = world.declared().rules.map(({ rule }) => world.status.condition(rule.meta, "Ready"));
    expect(new Set(ready)).toStrictEqual(new Set(["True Synced"]));
    const writes = world.status.writes.length;
    await world.clock.advance(60_000);
    expect(world.status.writes).toHaveLength(writes);
  });

  test("is written for rules with progress, and not for waiting rules", async () => {
    const rules = [blocking("at-work", addresses(100)), blocking("waiting", addresses(200, 500))];
    const world = new ConvergeWorld({ declared: { rules }, latencyMs: 100 });
    world.begin();
    await world.clock.advance(9_000);
    const writesOf = (name: string): number =>
      world.status.writes.filter(({ object }) => object === `WafIpRule edge/${name}`).length;
    expect(writesOf("at-work")).toBeGreaterThan(3);
    expect(writesOf("waiting")).toBeLessThan(3);
  });
});
