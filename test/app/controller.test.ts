// When an instance is reconciled (after changes, at scheduled times, and with backoff after failures), and the metrics of the runs.
import { describe, expect, test } from "@jest/globals";
import { InstanceController, turnMsMax, turnWritesMax } from "../../src/app/controller.ts";
import { nameKey, type ObjectName } from "../../src/model/resource.ts";
import type { RunResult } from "../../src/run/facts.ts";
import type { StatusPort } from "../../src/run/ports.ts";
import { addresses } from "../support/builders/manifests.ts";
import { createMetrics } from "../../src/telemetry/metrics.ts";
import { seededRandom } from "../support/builders/seeded-random.ts";
import { createVirtualClock } from "../support/fakes/virtual-clock.ts";
import { anInstance, aRule, instanceName } from "../support/builders/declare.ts";
import { gathered } from "../support/builders/gathered.ts";
import { FakeWaf } from "../support/fakes/fake-waf.ts";
import { MemoryInventory } from "../support/fakes/memory-inventory.ts";
import { MemoryLifecycle } from "../support/fakes/memory-lifecycle.ts";
import { RecordedStatus } from "../support/fakes/recorded-status.ts";
import { ScriptedSource } from "../support/fakes/scripted-source.ts";
import { atTestEnd } from "../support/builders/at-test-end.ts";

const resyncMs = 300_000;

const down = { code: "Unavailable", message: "The API is down.", status: 503 } as const;

/** What a controller has to do with: at first, one declared instance. */
function stage({ latencyMs = 0, ...options }: { readonly latencyMs?: number; readonly workers?: number } = {}) {
  const clock = createVirtualClock();
  const source = new ScriptedSource();
  const stop = new AbortController();
  const random = seededRandom(7);
  const metrics = createMetrics({ version: "1", withProcess: false });
  const places = new Map<string, { readonly waf: FakeWaf; readonly inventory: MemoryInventory }>();
  const placeOf = (name: ObjectName) => {
    const place = places.get(nameKey(name));
    if (place === undefined) throw new Error("no such WAF");
    return place;
  };
  /** An instance with its own WAF and a rule with this number of addresses. */
  const declare = (key: string, count: number, callMs: number) => {
    const place = { waf: new FakeWaf({ clock, latencyMs: callMs }), inventory: new MemoryInventory() };
    places.set(key, place);
    const { namespace, name } = nameOf(key);
    const scanners = aRule(`${namespace}/scanners`, { addresses: addresses(count), instance: { namespace, name } });
    source.declare(gathered({ instance: anInstance({ name: key }), rules: [scanners] }));
    return place;
  };
  const runs: { readonly instance: string; readonly kind: RunResult["kind"]; readonly atMs: number }[] = [];
  /** The reported failures of each run, with the reasons for the run. */
  const failures: { readonly reasons: readonly string[]; readonly code: string }[] = [];
  const errors: unknown[] = [];
  const reports: { status: StatusPort } = { status: new RecordedStatus() };
  const controller = new InstanceController({
    startRun: (instance, reasons) => ({
      ports: {
        source,
        lifecycle: new MemoryLifecycle(),
        status: reports.status,
        inventory: places.get(nameKey(instance))?.inventory ?? new MemoryInventory(),
        openWaf: ({ meta }, key) => placeOf(meta).waf.port(key),
        clock,
        random,
        observer: { failed: (_name, fault) => void failures.push({ reasons, code: fault.code }) },
        baseUrlObjection: () => undefined,
        stopping: stop.signal,
        abandon: stop.signal,
      },
      onOutcome: ({ result }) => {
        runs.push({ instance: nameKey(instance), kind: result.kind, atMs: clock.nowMs() });
      },
      onError: (error) => void errors.push(error),
    }),
    version: (name) => source.version(name),
    clock,
    random,
    metrics,
    ...options,
  });
  /** The value of a series, as a scrape shows it. */
  const metric = async (series: string): Promise<number> => {
    const line = (await metrics.text()).split("\n").find((each) => each.startsWith(`${series} `));
    return Number(line?.slice(series.length));
  };
  const running = controller.run(stop.signal);
  atTestEnd(async () => {
    stop.abort();
    await clock.advance(600_000);
    await running;
  });
  const wake = (key: string) => controller.wake(nameOf(key), "test");
  const { waf, inventory } = declare(nameKey(instanceName), 1, latencyMs);
  return { clock, source, controller, runs, failures, errors, reports, metric, declare, wake, waf, inventory };
}

function nameOf(key: string): ObjectName {
  const [namespace = "", name = ""] = key.split("/");
  return { namespace, name };
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
  const { clock, controller, runs, reports } = stage();
  const { status } = reports;
  reports.status = { read: () => undefined, write: async () => "The API server refused it.", event: () => undefined };
  controller.wake(instanceName, "start");
  await clock.advance(3_600_000);
  const gaps = runs.slice(1).map(({ atMs }, index) => atMs - (runs[index]?.atMs ?? 0));
  expect(gaps[0]).toBeLessThanOrEqual(11_000);
  expect(gaps.every((gap) => gap <= resyncMs + 1_000)).toBe(true);
  expect(gaps.toSorted((left, right) => left - right).at(-1)).toBeGreaterThan(150_000);
  expect(runs.length).toBeLessThan(40);
  reports.status = status;
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

const runsOf = (result: string): string => `wafsync_reconcile_total{controller="instances",result="${result}"}`;

describe("metrics", () => {
  test("count a run by its result, with its duration", async () => {
    const { clock, controller, metric } = stage({ latencyMs: 250 });
    controller.wake(instanceName, "start");
    await clock.advance(60_000);
    expect(await metric(runsOf("success"))).toBe(1);
    const seconds = 'wafsync_reconcile_duration_seconds_sum{controller="instances",result="success"}';
    expect(await metric(seconds)).toBeGreaterThan(0.25);
  });

  test("count a run that only a change can unblock as blocked", async () => {
    const { clock, inventory, controller, metric } = stage();
    inventory.makeUnreadable("The inventory is damaged.");
    controller.wake(instanceName, "start");
    await clock.advance(1_000);
    expect(await metric(runsOf("blocked"))).toBe(1);
    expect(await metric('workqueue_retries_total{name="instances"}')).toBe(0);
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

describe("several instances", () => {
  test("70 WAFs that hang do not delay another instance", async () => {
    const { clock, declare, wake } = stage();
    const hanging = Array.from({ length: 70 }, (_, index) => `tenant/waf-${index}`);
    for (const key of hanging) {
      declare(key, 1, 300_000);
      wake(key);
    }
    await clock.advance(10);
    const { waf } = declare("owner/waf", 1, 5);
    wake("owner/waf");
    await clock.advance(2_000);
    expect(waf.lists.blocklist).toHaveLength(1);
  });

  test("a long run yields to others after its writes, and continues after them without a separate report", async () => {
    const { clock, declare, wake, runs } = stage({ workers: 1 });
    const { waf: long } = declare("tenant/long", 1_000, 5);
    wake("tenant/long");
    await clock.advance(100);
    const { waf } = declare("owner/waf", 1, 5);
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
    const { waf: long } = declare("tenant/long", 1_000, callMs);
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
});
