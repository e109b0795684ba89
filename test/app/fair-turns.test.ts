// Many instances share one process: a WAF that does not respond delays no others, and long runs yield to others.
import { afterEach, expect, test } from "@jest/globals";
import { InstanceController, turnMsMax, turnWritesMax } from "../../src/app/instance-controller.ts";
import type { ObjectName } from "../../src/model/resource.ts";
import { nameKey } from "../../src/model/resource.ts";
import type { RunResult } from "../../src/reconcile/run-result.ts";
import { addresses } from "../support/builders/manifests.ts";
import { anInstance, aRule } from "../support/builders/declare.ts";
import { gathered } from "../support/builders/gathered.ts";
import { seededRandom } from "../support/builders/seeded-random.ts";
import { FakeWaf } from "../support/fakes/fake-waf.ts";
import { MemoryInventory } from "../support/fakes/memory-inventory.ts";
import { MemoryLifecycle } from "../support/fakes/memory-lifecycle.ts";
import { RecordedStatus } from "../support/fakes/recorded-status.ts";
import { ScriptedSource } from "../support/fakes/scripted-source.ts";
import { createVirtualClock } from "../support/fakes/virtual-clock.ts";

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(ends.splice(0).map(async (end) => await end()));
});

interface Ended {
  readonly instance: string;
  readonly kind: RunResult["kind"];
  readonly atMs: number;
}

/** With the default number of workers, if it is undefined. */
function stage(options: { readonly workers?: number } = {}) {
  const clock = createVirtualClock();
  const source = new ScriptedSource();
  const stop = new AbortController();
  const random = seededRandom(7);
  const wafs = new Map<string, FakeWaf>();
  const inventories = new Map<string, MemoryInventory>();
  const runs: Ended[] = [];
  const controller = new InstanceController({
    startRun: (name) => ({
      ports: {
        source,
        status: new RecordedStatus(),
        clock,
        random,
        observer: {},
        lifecycle: new MemoryLifecycle(),
        inventory: inventories.get(nameKey(name)) ?? new MemoryInventory(),
        openWaf: (instance, key) => {
          const waf = wafs.get(nameKey(instance.meta));
          if (waf === undefined) throw new Error("no such WAF");
          return waf.port(key);
        },
        baseUrlObjection: () => undefined,
        stopping: stop.signal,
        abandon: stop.signal,
      },
      onOutcome: ({ result }) => void runs.push({ instance: nameKey(name), kind: result.kind, atMs: clock.nowMs() }),
    }),
    version: (name) => source.version(name),
    clock,
    random,
    ...options,
  });
  const running = controller.run(stop.signal);
  ends.push(async () => {
    stop.abort();
    await clock.advance(600_000);
    await running;
  });
  return {
    clock,
    runs,
    declare: (key: string, count: number, latencyMs: number): FakeWaf => {
      const [namespace = "", name = ""] = key.split("/");
      const waf = new FakeWaf({ clock, latencyMs });
      wafs.set(key, waf);
      inventories.set(key, new MemoryInventory());
      const instance = anInstance({ name: key });
      const scanners = aRule(`${namespace}/scanners`, { addresses: addresses(count), instance: { namespace, name } });
      source.declare(gathered({ instance, rules: [scanners] }));
      return waf;
    },
    wake: (key: string) => controller.wake(nameOf(key), "test"),
  };
}

function nameOf(key: string): ObjectName {
  const [namespace = "", name = ""] = key.split("/");
  return { namespace, name };
}

test("70 WAFs that hang do not delay another instance", async () => {
  const { clock, declare, wake } = stage();
  const hanging = Array.from({ length: 70 }, (_, index) => `tenant/waf-${index}`);
  for (const key of hanging) {
    declare(key, 1, 300_000);
    wake(key);
  }
  await clock.advance(10);
  const waf = declare("owner/waf", 1, 5);
  wake("owner/waf");
  await clock.advance(2_000);
  expect(waf.lists.blocklist).toHaveLength(1);
});

test("a long run yields to others after its writes, and continues after them without a separate report", async () => {
  const { clock, declare, wake, runs } = stage({ workers: 1 });
  const long = declare("tenant/long", 1_000, 5);
  wake("tenant/long");
  await clock.advance(100);
  const waf = declare("owner/waf", 1, 5);
  wake("owner/waf");
  await clock.advance(turnWritesMax * 5);
  expect(runs.map(({ instance, kind }) => `${instance} ${kind}`)).toStrictEqual([
    "tenant/long Yielded",
    "owner/waf Done",
  ]);
  expect(waf.lists.blocklist).toHaveLength(1);
  expect(long.lists.blocklist.length).toBeLessThan(1_000);
  await clock.advance(60_000);
  expect(long.lists.blocklist).toHaveLength(1_000);
  expect(runs.filter(({ kind }) => kind === "Yielded")).toHaveLength(1);
  expect(long.calls.filter(({ name }) => name === "AddEntry")).toHaveLength(1_000);
});

test("a run with slow writes yields to others after some time", async () => {
  const { clock, declare, wake, runs } = stage({ workers: 1 });
  const callMs = 400;
  const long = declare("tenant/long", 1_000, callMs);
  wake("tenant/long");
  await clock.advance(100);
  declare("owner/waf", 1, 5);
  wake("owner/waf");
  await clock.advance(turnMsMax + 5 * callMs);
  expect(runs.map(({ instance, kind }) => `${instance} ${kind}`)).toStrictEqual([
    "tenant/long Yielded",
    "owner/waf Done",
  ]);
  expect(long.lists.blocklist.length).toBeLessThan(turnWritesMax);
});

test("a run makes all its writes without a break if no instances are waiting", async () => {
  const { clock, declare, wake, runs } = stage({ workers: 1 });
  const waf = declare("owner/waf", 1_000, 5);
  wake("owner/waf");
  await clock.advance(30_000);
  expect(runs.map(({ kind }) => kind)).toStrictEqual(["Done"]);
  expect(waf.lists.blocklist).toHaveLength(1_000);
});
