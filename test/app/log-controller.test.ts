// The metrics of log forwarding: runs by result, and retries after failures.
import { expect, test } from "@jest/globals";
import { LogController } from "../../src/app/log-controller.ts";
import type { WafFault } from "../../src/model/waf-result.ts";
import { createMetrics } from "../../src/telemetry/metrics.ts";
import { instanceName } from "../support/builders/declare.ts";
import { ForwardWorld } from "../support/worlds/forward-world.ts";
import { atTestEnd } from "../support/builders/at-test-end.ts";

interface Options {
  readonly fault?: WafFault;
  readonly baseUrlObjection?: string;
}

async function stage({ fault, baseUrlObjection }: Options = {}) {
  const world = new ForwardWorld();
  await world.becomeReady();
  world.baseUrlObjection = baseUrlObjection;
  if (fault !== undefined) world.faults.push(...Array.from({ length: 1_000 }, () => fault));
  const { clock, stopping: stop } = world;
  const metrics = createMetrics({ version: "1", withProcess: false });
  const reasonsOfRuns: (readonly string[])[] = [];
  const controller = new LogController({
    startRun: (_instance, reasons) => {
      reasonsOfRuns.push(reasons);
      return { ports: world.ports() };
    },
    concerns: () => true,
    clock,
    random: () => 0.5,
    metrics,
  });
  const running = controller.run(stop.signal);
  atTestEnd(async () => {
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
  const { clock, controller, reasonsOfRuns, runs, retries } = await stage({ fault });
  controller.wake(instanceName, "start");
  await clock.advance(3_600_000);
  expect(await runs("error")).toBeGreaterThan(2);
  expect(await retries()).toBe(await runs("error"));
  expect(reasonsOfRuns[0]).toStrictEqual(["start"]);
  expect(reasonsOfRuns.at(-1)).toStrictEqual(["retry"]);
});
