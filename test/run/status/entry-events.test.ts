// Events about entries: which entries, for which rule, and never a flood of events.
import { describe, expect, test } from "@jest/globals";
import type { Entry } from "../../../src/address/entry.ts";
import { emptyInventory } from "../../../src/model/inventory.ts";
import type { World } from "../../../src/run/world.ts";
import { WriteLedger } from "../../../src/run/write-ledger.ts";
import { addresses, anInstance, blocking } from "../../support/builders/declare.ts";
import { ConvergeWorld, converged } from "../../support/worlds/converge-world.ts";
import { messageFaults } from "../../support/worlds/conformance.ts";

const open = anInstance({ guards: { maxRemovals: 10_000, maxRemovalPercent: 100 } });

function eventsOf(world: ConvergeWorld, object: string): string[] {
  return world.status.events.flatMap((event) => (event.object === object ? [event.message] : []));
}

describe("An event about entries", () => {
  test("names the first ten and the rule, on the rule as well as on the instance", async () => {
    const world = await converged({ rules: [blocking("feed", addresses(1_413))] });
    const first = addresses(1_413).slice(0, 10);
    const message = `Added 1,413 entries for WafIpRule edge/feed: ${first.join(", ")} and 1,403 more.`;
    expect(eventsOf(world, "WafInstance edge/shop")).toStrictEqual([message]);
    expect(eventsOf(world, "WafIpRule edge/feed")).toStrictEqual([message]);
    const details = { rule: "edge/feed", entries: first, count: 1_413 };
    expect(world.status.events).toMatchObject([
      { reason: "EntriesAdded", details },
      { reason: "EntriesAdded", details, isRepeated: true },
    ]);
    expect(world.status.events[0]?.isRepeated).toBeUndefined();
    expect(messageFaults(message)).toStrictEqual([]);
  });

  test("counts an entry once, even if the WAF accepts it again and again and never shows it", () => {
    const ledger = new WriteLedger({ inventory: emptyInventory } as World);
    const rules = ["edge/feed"];
    const [first, second] = ["192.0.2.1" as Entry, "192.0.2.2" as Entry];
    for (const entry of [first, first, first, second]) {
      const operation = { kind: "AddEntry", list: "blocklist", entry, rules, reason: "" } as const;
      ledger.accepted(operation);
    }
    const added = { change: "Added", rules };
    expect(ledger.changed).toStrictEqual([first, second].map((entry) => ({ ...added, entry })));
  });

  test("names the rule that still exists if several rules last declared the entry", async () => {
    const rules = [blocking("gone", ["192.0.2.1"]), blocking("stays", ["192.0.2.1", "192.0.2.2"])];
    const world = await converged({ instance: open, rules });
    await world.pass({ rules: [blocking("stays", ["192.0.2.2"])] });
    expect(eventsOf(world, "WafIpRule edge/stays").at(-1)).toBe("Removed 1 entry of WafIpRule edge/stays: 192.0.2.1.");
  });

  test("reports the entries that were added before the process was stopped", async () => {
    const world = new ConvergeWorld({ declared: { rules: [blocking("feed", addresses(30))] }, latencyMs: 100 });
    const { promise, isOver } = world.begin();
    await world.clock.advance(1_500);
    world.stop();
    await world.clock.advanceUntil(isOver, 60_000);
    expect((await promise).result.kind).toBe("Interrupted");
    expect(eventsOf(world, "WafIpRule edge/feed")).toStrictEqual([
      expect.stringMatching(/^Added \d+ entries for WafIpRule edge\/feed: /u),
    ]);
  });

  test("is a single summary on the instance if more than five rules changed", async () => {
    const rules = Array.from({ length: 7 }, (_, index) =>
      blocking(`r${index}`, addresses(index === 6 ? 1_200 : 2, index * 2)),
    );
    const world = await converged({ rules });
    const [sum, ...others] = eventsOf(world, "WafInstance edge/shop");
    expect(others).toStrictEqual([]);
    expect(sum).toBe(
      "Added 1,212 entries for 7 rules: 1,200 for WafIpRule edge/r6, 2 for WafIpRule edge/r0, 2 for WafIpRule edge/r1, 2 for WafIpRule edge/r2, 2 for WafIpRule edge/r3, and the rest for 2 more.",
    );
    expect(eventsOf(world, "WafIpRule edge/r0")).toStrictEqual([
      "Added 2 entries for WafIpRule edge/r0: 198.18.0.0, 198.18.0.1.",
    ]);
    expect(world.status.events.every(({ isRepeated }) => isRepeated === undefined)).toBe(true);
  });
});
