// When an instance is reconciled (after changes, at scheduled times, and with backoff after failures), and the metrics of the runs.
import { afterEach, describe, expect, test } from "@jest/globals";
import { InstanceController } from "../../src/app/instance-controller.ts";
import { createMetrics } from "../../src/telemetry/metrics.ts";
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

interface Failure {
  readonly reasons: readonly string[];
  readonly code: string;
}

const down = { code: "Unavailable", message: "The API is down.", status: 503 } as const;

interface Stage {
  readonly clock: VirtualClock;
  readonly source: ScriptedSource;
  readonly controller: InstanceController;
  /** The end times of the runs. */
  readonly runs: number[];
  readonly waf: FakeWaf;
  readonly inventory: MemoryInventory;
  /** The reported results of each run, with the reasons for the run. */
  readonly failures: Failure[];
  readonly errors: unknown[];
  /** The value of a series, as a scrape shows it. */
  readonly metric: (series: string) => Promise<number>;
  /** Called at the end of each run. */
  onRun: () => void;
}

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(ends.splice(0).map(async (end) => await end()));
});

function stage({ latencyMs = 0 } = {}): Stage {
  const clock = createVirtualClock();
  const source = new ScriptedSource();
  source.declare(gathered({ rules: [aRule("scanners", { addresses: ["198.51.100.1"] })] }));
  const stop = new AbortController();
  const random = seededRandom(7);
  const waf = new FakeWaf({ clock, latencyMs });
  const inventory = new MemoryInventory();
  const metrics = createMetrics({ version: "1", withProcess: false });
  const ports: ReconcilePorts = {
    source,
    inventory,
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
  const runs: number[] = [];
  const failures: Failure[] = [];
  const errors: unknown[] = [];
  const controller = new InstanceController({
    startRun: (_instance, reasons) => ({
      ports: { ...ports, observer: { failed: (_name, fault) => void failures.push({ reasons, code: fault.code }) } },
      onOutcome: () => {
        runs.push(clock.nowMs());
        result.onRun();
      },
      onError: (error) => void errors.push(error),
    }),
    version: (name) => source.version(name),
    clock,
    random,
    metrics,
  });
  const metric = async (series: string): Promise<number> => {
    const line = (await metrics.text()).split("\n").find((each) => each.startsWith(`${series} `));
    return Number(line?.slice(series.length));
  };
  const running = controller.run(stop.signal);
  ends.push(async () => {
    stop.abort();
    await running;
  });
  const result: Stage = {
    clock,
    source,
    controller,
    runs,
    failures,
    errors,
    waf,
    inventory,
    metric,
    onRun: () => undefined,
  };
  return result;
}

test("an instance that is synced is reconciled at each resync and at each change", async () => {
  const { clock, source, controller, runs } = stage();
  controller.wake(instanceName, "start");
  await clock.advance(3 * resyncMs + 60_000);
  expect(runs).toHaveLength(4);
  source.change((before) => ({ ...before, rules: [] }));
  controller.wake(instanceName, "rule deleted");
  await clock.advance(1_000);
  expect(runs).toHaveLength(5);
});

test.each([-7_200_000, 7_200_000])(
  "a wall clock that jumps by %i ms delays neither retries nor resyncs",
  async (jumpMs) => {
    const { clock, controller, runs, waf } = stage();
    controller.wake(instanceName, "start");
    await clock.advance(1_000);
    clock.jumpWallClock(jumpMs);
    await clock.advance(resyncMs);
    expect(runs).toHaveLength(2);
    waf.failOn({ on: "Any", times: 1, effect: "Before", fault: down });
    await clock.advance(resyncMs - 1_000);
    clock.jumpWallClock(jumpMs);
    await clock.advance(10_000);
    expect(runs).toHaveLength(4);
    expect(waf.lists.blocklist).toHaveLength(1);
  },
);

test("a wake without a change causes no run", async () => {
  const { clock, controller, runs } = stage();
  controller.wake(instanceName, "start");
  await clock.advance(1_000);
  controller.wake(instanceName, "status written");
  await clock.advance(60_000);
  expect(runs).toHaveLength(1);
});

test("a status that could not be written is retried with backoff, until it is written", async () => {
  const world = stage();
  const { clock, controller, runs } = world;
  world.onRun = () => controller.requeue(instanceName, "status unwritten");
  controller.wake(instanceName, "start");
  await clock.advance(3_600_000);
  const gaps = runs.slice(1).map((atMs, index) => atMs - (runs[index] ?? 0));
  expect(gaps[0]).toBeLessThanOrEqual(11_000);
  expect(gaps.every((gap) => gap <= resyncMs + 1_000)).toBe(true);
  expect(gaps.toSorted((left, right) => left - right).at(-1)).toBeGreaterThan(200_000);
  expect(runs.length).toBeLessThan(25);
  world.onRun = () => undefined;
  await clock.advance(resyncMs + 1_000);
  const before = runs.length;
  await clock.advance(resyncMs - 60_000);
  expect(runs.length - before).toBeLessThanOrEqual(1);
});

test("a deleted instance is forgotten", async () => {
  const { clock, source, controller, runs } = stage();
  controller.wake(instanceName, "start");
  await clock.advance(1_000);
  source.remove(instanceName);
  controller.wake(instanceName, "instance deleted");
  await clock.advance(4 * resyncMs);
  expect(runs).toHaveLength(2);
});

test("a run that failed and is requeued with backoff counts as a retry, and a successful one does not", async () => {
  const { clock, controller, runs, waf, metric } = stage();
  waf.failOn({ on: "Any", times: 3, effect: "Before", fault: { code: "Unavailable", message: "down", status: 503 } });
  controller.wake(instanceName, "start");
  await clock.advance(60_000);
  expect(runs).toHaveLength(4);
  expect(await metric('workqueue_retries_total{name="instances"}')).toBe(3);
});

const runsOf = (result: string): string => `wafsync_reconcile_total{controller="instances",result="${result}"}`;

describe("metrics", () => {
  test("show every result at zero before the first run", async () => {
    const { metric } = stage();
    for (const result of ["success", "error", "requeue", "blocked", "interrupted"]) {
      expect(await metric(runsOf(result))).toBe(0);
      const count = `wafsync_reconcile_duration_seconds_count{controller="instances",result="${result}"}`;
      expect(await metric(count)).toBe(0);
    }
  });

  test("count a run by its result, with its duration", async () => {
    const { clock, controller, metric } = stage({ latencyMs: 250 });
    controller.wake(instanceName, "start");
    await clock.advance(60_000);
    expect(await metric(runsOf("success"))).toBe(1);
    const seconds = 'wafsync_reconcile_duration_seconds_sum{controller="instances",result="success"}';
    expect(await metric(seconds)).toBeGreaterThan(0.25);
  });

  test("count a wake during the backoff of a failed run neither as an error nor as a retry", async () => {
    const { clock, source, waf, controller, metric } = stage();
    waf.failOn({ on: "Any", times: 1_000, effect: "Before", fault: { ...down, retryAfterMs: 30_000 } });
    controller.wake(instanceName, "start");
    await clock.advance(1_000);
    source.change((before) => ({ ...before, rules: [] }));
    controller.wake(instanceName, "WafIpRule deleted");
    await clock.advance(1_000);
    expect(await metric(runsOf("error"))).toBe(1);
    expect(await metric(runsOf("requeue"))).toBe(1);
    expect(await metric('workqueue_retries_total{name="instances"}')).toBe(1);
  });

  test("count a run that only a change can unblock as blocked", async () => {
    const { clock, inventory, controller, metric } = stage();
    inventory.makeUnreadable("The inventory is damaged.");
    controller.wake(instanceName, "start");
    await clock.advance(1_000);
    expect(await metric(runsOf("blocked"))).toBe(1);
    expect(await metric('workqueue_retries_total{name="instances"}')).toBe(0);
  });

  test("count a run that threw as an error and as a retry", async () => {
    const { clock, waf, controller, errors, metric } = stage();
    waf.onCall = () => {
      throw new Error("a bug");
    };
    controller.wake(instanceName, "start");
    await clock.advance(60_000);
    expect(errors.length).toBeGreaterThan(1);
    expect(await metric(runsOf("error"))).toBe(errors.length);
    expect(await metric('workqueue_retries_total{name="instances"}')).toBe(errors.length);
  });

  test("count the run after a failed status write as a retry", async () => {
    const world = stage();
    const { clock, controller, metric } = world;
    world.onRun = () => controller.requeue(instanceName, "status unwritten");
    controller.wake(instanceName, "start");
    await clock.advance(1_000);
    expect(await metric(runsOf("success"))).toBe(1);
    expect(await metric('workqueue_retries_total{name="instances"}')).toBe(1);
  });
});

test("each run gets the reasons for which it was woken, and a retry says that it is one", async () => {
  const { clock, waf, controller, failures } = stage();
  waf.failOn({ on: "Any", times: 2, effect: "Before", fault: down });
  controller.wake(instanceName, "start");
  await clock.advance(60_000);
  expect(failures).toStrictEqual([
    { reasons: ["start"], code: "Unavailable" },
    { reasons: ["retry"], code: "Unavailable" },
  ]);
});
