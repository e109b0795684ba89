// The shipped bundle, killed without warning at random moments while it works with a real API server. The next process continues
// from the records that it wrote ahead.
// Long: `npm run test:deploy` runs it.
import { once } from "node:events";
import { setTimeout as realDelay } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { seededRandom } from "../support/builders/seeded-random.ts";
import { rule } from "../support/builders/manifests.ts";
import { timeLimit } from "../support/processes/slowness.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";
import type { OperatorWorld } from "../support/worlds/operator-world.ts";

const kills = 30;
const seed = 2_026;
const foreign = "198.51.100.7";
const poolSize = 100;
const names = ["one", "two"];

await describeOperator("an operator that is killed", (world) => {
  test(`${kills} times at random moments, forgets and loses nothing`, async () => {
    const random = seededRandom(seed);
    const guards = { maxRemovals: 10_000, maxRemovalPercent: 100 };
    const { namespace, waf } = await world().newInstance("sigkill", { guards });
    waf.view.add("blocklist", [foreign]);
    world().simulator.settings.latencyMs = 5;
    let wanted = new Set<string>();
    for (let kill = 0; kill < kills; kill += 1) {
      wanted = await declareAtRandom(world(), namespace, random);
      const after = waf.view.counters.requests + Math.floor(random() * 35);
      const operator = await world().startOperator();
      const isReached = (): boolean => waf.view.counters.requests >= after;
      const patience = timeLimit(20_000);
      while (!isReached() && !patience.isOver()) await realDelay(2);
      await realDelay(random() * 8);
      operator.process.child.kill("SIGKILL");
      if (operator.process.child.signalCode === null) await once(operator.process.child, "exit");
      // The call in flight may still arrive.
      await realDelay(20);
      const known = await owned(world(), namespace);
      const unowned = waf.view.blocklist.filter((text) => !known.has(text) && text !== foreign);
      expect({ kill, unowned }).toStrictEqual({ kill, unowned: [] });
    }
    world().simulator.settings.latencyMs = 0;
    await world().startOperator();
    await world().eventually(
      "the declared state is there",
      () => waf.view.blocklist.toSorted().join(" ") === [foreign, ...wanted].toSorted().join(" "),
    );
    await world().allReady(namespace);
    await world().eventually("what was removed has left the record", async () => {
      const known = await owned(world(), namespace);
      return known.size === wanted.size;
    });
    expect(await owned(world(), namespace)).toStrictEqual(wanted);
    expect(waf.view.flights.overlaps).toBe(0);
    process.stdout.write(`\nSIGKILL over a real API server: ${kills} kills.\n`);
  });
});

async function declareAtRandom(world: OperatorWorld, namespace: string, random: () => number): Promise<Set<string>> {
  const wanted = new Set<string>();
  for (const name of names) {
    const from = Math.floor(random() * poolSize);
    const count = 5 + Math.floor(random() * 40);
    const some = Array.from({ length: count }, (_, index) => `203.0.113.${(from + index) % poolSize}`);
    for (const address of some) wanted.add(address);
    await world.apply(rule(namespace, name, some));
  }
  return wanted;
}

/** The entries in the inventory. */
async function owned(world: OperatorWorld, namespace: string): Promise<Set<string>> {
  const body = await world.requests.expect({ path: `/apis/wafsync.dev/v1alpha1/namespaces/${namespace}/wafrecords` });
  const records = (body as { items: { spec: { type: string; text: string } }[] }).items;
  const inventories = records.filter(({ spec }) => spec.type === "Inventory");
  // The record also names removals. Only the line of a managed entry refers to its owners.
  return new Set(inventories.flatMap(({ spec }) => spec.text.match(/^203\.0\.113\.\d+(?= )/gm) ?? []));
}
