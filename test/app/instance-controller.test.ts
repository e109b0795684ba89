// When passes run: at changes, at times, and again for what could not be written, more and more seldom.
import { afterEach, expect, test } from "@jest/globals";
import { InstanceController } from "../../src/app/instance-controller.ts";
import type { ReconcilePorts } from "../../src/reconcile/ports.ts";
import { seededRandom } from "../support/builders/seeded-random.ts";
import type { VirtualClock } from "../support/fakes/virtual-clock.ts";
import { createVirtualClock } from "../support/fakes/virtual-clock.ts";
import { aRule, instanceName } from "../support/builders/declare.ts";
import { gathered } from "../support/builders/gathered.ts";
import { FakeWaf } from "../support/fakes/fake-waf.ts";
import { MemoryInventory } from "../support/fakes/memory-inventory.ts";
import { MemoryLifecycle } from "../support/fakes/memory-lifecycle.ts";
import { RecordedStatus } from "../support/fakes/recorded-status.ts";
import { ScriptedSource } from "../support/fakes/scripted-source.ts";

const resyncMs = 300_000;

interface Stage {
  readonly clock: VirtualClock;
  readonly source: ScriptedSource;
  readonly controller: InstanceController;
  /** When each pass ended. */
  readonly passes: number[];
  /** Called at the end of each pass. */
  onPass: () => void;
}

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(ends.splice(0).map(async (end) => await end()));
});

function stage(): Stage {
  const clock = createVirtualClock();
  const source = new ScriptedSource();
  source.declare(gathered({ rules: [aRule("scanners", { addresses: ["198.51.100.1"] })] }));
  const stop = new AbortController();
  const random = seededRandom(7);
  const waf = new FakeWaf({ clock });
  const ports: ReconcilePorts = {
    source,
    inventory: new MemoryInventory(),
    lifecycle: new MemoryLifecycle(),
    status: new RecordedStatus(),
    openWaf: (_instance, key) => waf.port(key),
    clock,
    random,
    observer: {},
    baseUrlObjection: () => undefined,
    stopping: stop.signal,
    abandon: stop.signal,
  };
  const passes: number[] = [];
  const controller = new InstanceController({
    ports,
    clock,
    random,
    onOutcome: () => {
      passes.push(clock.nowMs());
      result.onPass();
    },
  });
  const running = controller.run(stop.signal);
  ends.push(async () => {
    stop.abort();
    await running;
  });
  const result: Stage = { clock, source, controller, passes, onPass: () => undefined };
  return result;
}

test("an instance that is synced gets a pass at each resync, and one for each change", async () => {
  const { clock, source, controller, passes } = stage();
  controller.wake(instanceName, "start");
  await clock.advance(3 * resyncMs + 60_000);
  expect(passes).toHaveLength(4);
  source.change((before) => ({ ...before, rules: [] }));
  controller.wake(instanceName, "rule deleted");
  await clock.advance(1_000);
  expect(passes).toHaveLength(5);
});

test("a wake without news costs no pass", async () => {
  const { clock, controller, passes } = stage();
  controller.wake(instanceName, "start");
  await clock.advance(1_000);
  controller.wake(instanceName, "status written");
  await clock.advance(60_000);
  expect(passes).toHaveLength(1);
});

test("what could not be written brings a pass soon, then more and more seldom, and once it is written none", async () => {
  const world = stage();
  const { clock, controller, passes } = world;
  world.onPass = () => controller.lookAgain(instanceName, "status unwritten");
  controller.wake(instanceName, "start");
  await clock.advance(3_600_000);
  const gaps = passes.slice(1).map((atMs, index) => atMs - (passes[index] ?? 0));
  expect(gaps[0]).toBeLessThanOrEqual(11_000);
  expect(gaps.every((gap) => gap <= resyncMs + 1_000)).toBe(true);
  expect(gaps.toSorted((left, right) => left - right).at(-1)).toBeGreaterThan(200_000);
  expect(passes.length).toBeLessThan(25);
  world.onPass = () => undefined;
  await clock.advance(resyncMs + 1_000);
  const before = passes.length;
  await clock.advance(resyncMs - 60_000);
  expect(passes.length - before).toBeLessThanOrEqual(1);
});

test("an instance that is gone is forgotten", async () => {
  const { clock, source, controller, passes } = stage();
  controller.wake(instanceName, "start");
  await clock.advance(1_000);
  source.remove(instanceName);
  controller.wake(instanceName, "instance deleted");
  await clock.advance(4 * resyncMs);
  expect(passes).toHaveLength(2);
});
