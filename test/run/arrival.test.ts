import { describe, expect, test } from "@jest/globals";
import { arrivalMs, whileArriving } from "../../src/run/take-over.ts";
import { InstanceMemory } from "../../src/run/report.ts";
import type { SourcePort } from "../../src/run/ports.ts";
import { anInstance, blocking } from "../support/builders/declare.ts";
import { gathered } from "../support/builders/gathered.ts";
import { createVirtualClock } from "../support/fakes/virtual-clock.ts";
import { ConvergeWorld } from "../support/worlds/converge-world.ts";

const continuing = gathered({
  instance: anInstance({ meta: { annotations: { "wafsync.dev/continues": "old/shop" } } }),
});

function aWorld(declared: typeof continuing, more: Partial<SourcePort> = {}) {
  const clock = createVirtualClock();
  const memory = new InstanceMemory();
  const source = more as SourcePort;
  return { clock, reasons: () => whileArriving(declared, { source, clock }, memory).brokenSources };
}

describe("An instance that continues another one", () => {
  test("counts as incomplete for half a minute after it was first seen", async () => {
    const { reasons, clock } = aWorld(continuing);
    expect(reasons()).toStrictEqual([
      expect.stringContaining(
        "The instance continues WafInstance old/shop: wafsync removes nothing until 2026-01-01T00:00:30Z",
      ),
    ]);
    expect(reasons()).toStrictEqual(reasons());
    await clock.advance(arrivalMs);
    expect(reasons()).toStrictEqual([]);
  });

  test("removes nothing in this time, after a fresh read either", async () => {
    const world = new ConvergeWorld({ declared: { ...continuing, rules: [blocking("a", ["192.0.2.1"])] } });
    // As in a cluster, where objects change one by one.
    Object.assign(world.source, { isSettled: undefined });
    await world.pass();
    await world.pass({ rules: [] });
    expect(world.waf.lists.blocklist).toStrictEqual(["192.0.2.1"]);
    await world.passAfter(arrivalMs);
    expect(world.waf.lists.blocklist).toStrictEqual([]);
  });

  test("counts as incomplete for the same time if the wall clock jumps", async () => {
    const { reasons, clock } = aWorld(continuing);
    expect(reasons()).toHaveLength(1);
    clock.jumpWallClock(7_200_000);
    expect(reasons()).toHaveLength(1);
    clock.jumpWallClock(-14_400_000);
    await clock.advance(arrivalMs);
    expect(reasons()).toStrictEqual([]);
  });

  test("is complete if files are the source, because removals already wait until these are unchanged", () => {
    expect(aWorld(continuing, { isSettled: () => true }).reasons()).toStrictEqual([]);
  });

  test("is the only one that counts as incomplete", () => {
    expect(aWorld(gathered()).reasons()).toStrictEqual([]);
  });
});
