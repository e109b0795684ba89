// The metrics of log forwarding: runs by result, and retries after failures.
import { afterEach, expect, test } from "@jest/globals";
import { LogForwardingController } from "../../src/app/log-forwarding-controller.ts";
import type { WafFault } from "../../src/model/waf-result.ts";
import type { ForwardLogsPorts } from "../../src/reconcile/logs/forward-ports.ts";
import { createMetrics } from "../../src/telemetry/metrics.ts";
import { anInstance, instanceName } from "../support/builders/declare.ts";
import { gathered } from "../support/builders/gathered.ts";
import { seededRandom } from "../support/builders/seeded-random.ts";
import { RecordedStatus } from "../support/fakes/recorded-status.ts";
import { createVirtualClock } from "../support/fakes/virtual-clock.ts";

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(ends.splice(0).map(async (end) => await end()));
});

interface Options {
  readonly fault?: WafFault;
  readonly baseUrlObjection?: string;
}

function stage({ fault, baseUrlObjection }: Options = {}) {
  const clock = createVirtualClock();
  const random = seededRandom(5);
  const stop = new AbortController();
  const metrics = createMetrics({ version: "1", withProcess: false });
  const reasonsOfRuns: (readonly string[])[] = [];
  const instance = anInstance();
  const enabled = { ...instance, logs: { ...instance.logs, enabled: true } };
  const page = { scrollId: null, total: 0, entries: [], broken: [] };
  const status = new RecordedStatus();
  const ready = { type: "Ready", status: "True", reason: "Ready", message: "", lastTransitionTime: "" };
  void status.write(enabled.meta, { observedGeneration: 1, domain: "shop.example", conditions: [ready] });
  const ports: ForwardLogsPorts = {
    source: { gather: async () => gathered({ instance: enabled }) },
    baseUrlObjection: () => baseUrlObjection,
    domainOf: () => "shop.example",
    openLogs: () => ({
      queryLogs: async () => (fault === undefined ? { ok: true, value: page } : { ok: false, fault }),
      scrollLogs: async () => ({ ok: true, value: page }),
    }),
    outputOf: () => ({ write: async () => undefined }),
    blocks: { publish: () => undefined, report: () => undefined },
    records: {
      load: async () => ({ state: "Loaded", record: undefined, revision: "" }),
      save: async () => ({ state: "Saved", revision: "1" }),
    },
    status: {
      read: (meta) => status.read(meta),
      event: () => undefined,
      update: async (meta, change) => await status.write(meta, change(status.read(meta) ?? {}) ?? {}),
    },
    clock,
    random,
    mayForward: () => true,
    stopping: stop.signal,
    observer: {},
  };
  const controller = new LogForwardingController({
    startRun: (_instance, reasons) => {
      reasonsOfRuns.push(reasons);
      return { ports };
    },
    concerns: () => true,
    clock,
    random,
    metrics,
  });
  const running = controller.run(stop.signal);
  ends.push(async () => {
    stop.abort();
    await running;
  });
  const metric = async (series: string): Promise<number> => {
    const line = (await metrics.text()).split("\n").find((each) => each.startsWith(`${series} `));
    return Number(line?.slice(series.length));
  };
  const runs = async (result: string): Promise<number> =>
    await metric(`wafsync_reconcile_total{controller="logs",result="${result}"}`);
  const retries = async (): Promise<number> => await metric('workqueue_retries_total{name="logs"}');
  return { clock, controller, reasonsOfRuns, runs, retries };
}

test("a run that failed counts as an error and as a retry", async () => {
  const fault = { code: "Unavailable", message: "The API is down.", status: 503 } as const;
  const { clock, controller, reasonsOfRuns, runs, retries } = stage({ fault });
  controller.wake(instanceName, "start");
  await clock.advance(3_600_000);
  expect(await runs("error")).toBeGreaterThan(2);
  expect(await retries()).toBe(await runs("error"));
  expect(reasonsOfRuns[0]).toStrictEqual(["start"]);
  expect(reasonsOfRuns.at(-1)).toStrictEqual(["retry"]);
});

test("a run that cannot start before a change counts as blocked, and not as a retry", async () => {
  const { clock, controller, runs, retries } = stage({ baseUrlObjection: "The base URL is not allowed." });
  controller.wake(instanceName, "start");
  await clock.advance(60_000);
  expect(await runs("blocked")).toBe(1);
  expect(await retries()).toBe(0);
});

test("a run that forwarded all entries counts as a success", async () => {
  const { clock, controller, runs, retries } = stage();
  controller.wake(instanceName, "start");
  await clock.advance(60_000);
  expect(await runs("success")).toBeGreaterThan(0);
  expect(await runs("error")).toBe(0);
  expect(await retries()).toBe(0);
});
