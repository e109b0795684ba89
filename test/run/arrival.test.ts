import { describe, expect, test } from "@jest/globals";
import { arrivalMs, holdDuringArrival } from "../../src/run/take-over.ts";
import { newInstanceMemory } from "../../src/run/instance-memory.ts";
import type { ReconcilePorts, SourcePort } from "../../src/run/ports.ts";
import { anInstance } from "../support/builders/declare.ts";
import { gathered } from "../support/builders/gathered.ts";
import { createVirtualClock } from "../support/fakes/virtual-clock.ts";

const name = { namespace: "edge", name: "shop" };
const continuing = gathered({
  instance: anInstance({ meta: { annotations: { "wafsync.dev/continues": "old/shop" } } }),
});

function portsOf(declared: typeof continuing, more: Partial<SourcePort> = {}) {
  const clock = createVirtualClock();
  const source: SourcePort = {
    gather: async () => declared,
    confirm: async () => ({ state: "Read", gathered: declared }),
    version: () => 1,
    ...more,
  };
  return { clock, ports: holdDuringArrival({ source, clock } as unknown as ReconcilePorts, newInstanceMemory()) };
}

async function holds({ source }: ReconcilePorts): Promise<readonly (readonly string[] | undefined)[]> {
  const confirmed = await source.confirm(name, {});
  const read = confirmed.state === "Read" ? confirmed.gathered : undefined;
  return [(await source.gather(name))?.brokenSources, read?.brokenSources];
}

describe("An instance that continues another one", () => {
  test("counts as incomplete for half a minute after it was first seen, in the cache and in fresh reads", async () => {
    const { ports, clock } = portsOf(continuing);
    const [reason] = (await ports.source.gather(name))?.brokenSources ?? [];
    expect(reason).toContain(
      "The instance continues WafInstance old/shop: wafsync removes nothing until 2026-01-01T00:00:30.000Z",
    );
    expect(await holds(ports)).toStrictEqual([[reason], [reason]]);
    await clock.advance(arrivalMs);
    expect(await holds(ports)).toStrictEqual([[], []]);
  });

  test("counts as incomplete for the same time if the wall clock jumps", async () => {
    const { ports, clock } = portsOf(continuing);
    await ports.source.gather(name);
    clock.jumpWallClock(7_200_000);
    expect((await ports.source.gather(name))?.brokenSources).toHaveLength(1);
    clock.jumpWallClock(-14_400_000);
    await clock.advance(arrivalMs);
    expect(await holds(ports)).toStrictEqual([[], []]);
  });

  test("is complete if files are the source, because removals already wait until these are unchanged", async () => {
    const { ports } = portsOf(continuing, { isSettled: () => true });
    expect(await holds(ports)).toStrictEqual([[], []]);
  });

  test("is the only one that counts as incomplete", async () => {
    expect(await holds(portsOf(gathered()).ports)).toStrictEqual([[], []]);
  });
});
