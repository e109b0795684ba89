// WafCacheClear objects on a real control plane: one call for many, every way to fail, and a process that is killed at the
// worst moment.
import { beforeAll, describe, expect, test } from "@jest/globals";
import type { FaultEffect } from "../../src/simulator/fault-rule.ts";
import { cacheClear, type Manifest } from "../support/builders/manifests.ts";
import { slow } from "../support/processes/slowness.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";
import { conditionOf, type TestWaf } from "../support/worlds/operator-world.ts";
import type { WafsyncObject } from "../support/worlds/status-history.ts";

await describeOperator("cache clears", (world) => {
  beforeAll(async () => {
    await world().startOperator();
  });

  function failOnClear({ domain }: TestWaf, effect: FaultEffect, times = 1): void {
    world().simulator.addFaults({ match: { path: "/clear", domain }, times, effect });
  }

  async function read({ metadata: { namespace, name } }: Manifest): Promise<WafsyncObject | undefined> {
    return await world().read("WafCacheClear", namespace, name);
  }

  /** Waits until it is over, and gives `Complete Cleared` or `Failed BadApiKey` with its status. */
  async function ended(clear: Manifest) {
    let over = "";
    let object: WafsyncObject | undefined;
    await world().eventually(`${clear.metadata.name} is over`, async () => {
      object = await read(clear);
      const found = ["Complete", "Failed"]
        .map((type) => conditionOf(object, type))
        .find((one) => one?.status === "True");
      over = found === undefined ? "" : `${found.type} ${found.reason}`;
      return over !== "";
    });
    return { over, status: object?.status ?? {} };
  }

  function clearsOf(waf: TestWaf): number {
    return waf.view.counters.cacheClears;
  }

  test("ten that are created together cause at most two calls, and all become Complete, as kubectl wait sees it", async () => {
    const { namespace, waf } = await world().newInstance("ten");
    await world().allReady(namespace);
    const names = Array.from({ length: 10 }, (_, index) => `clear-${index}`);
    // The first call lasts until all objects exist.
    world().simulator.settings.latencyMs = slow(1_000);
    await world().apply(...names.map((name) => cacheClear(namespace, name, { trigger: "4f2a91c" })));
    world().simulator.settings.latencyMs = 0;
    const wait = [
      "wait",
      "-n",
      namespace,
      "--for=condition=Complete",
      `--timeout=${slow(60)}s`,
      "wafcacheclear",
      "--all",
    ];
    expect((await world().cluster.expectKubectl(wait)).match(/condition met/g)).toHaveLength(10);
    expect(clearsOf(waf)).toBeGreaterThanOrEqual(1);
    expect(clearsOf(waf)).toBeLessThanOrEqual(2);
    const objects = (await world().objects(namespace)).filter(({ kind }) => kind === "WafCacheClear");
    const coalesced = objects.filter(({ status }) => status?.["coalescedWith"] !== undefined);
    expect(coalesced).toHaveLength(10 - clearsOf(waf));
    for (const { status } of objects) {
      const by = status?.["coalescedWith"];
      if (by !== undefined) expect(by).toMatch(new RegExp(`^${namespace}/clear-[0-9]$`));
    }
    const series = `wafsync_cache_clears_total{waf_instance="${namespace}/waf",cause="WafCacheClear",result="Cleared"}`;
    expect(await world().operator.metric(series)).toBe(clearsOf(waf));
    const [head = "", first = ""] = (await world().cluster.expectKubectl(["get", "wafcc", "-n", namespace])).split(
      "\n",
    );
    expect(head.split(/\s{2,}/).map((title) => title.trim())).toStrictEqual([
      "NAME",
      "INSTANCE",
      "TRIGGER",
      "COMPLETE",
      "DURATION",
      "ATTEMPTS",
      "READY",
      "AGE",
    ]);
    expect(first).toMatch(/^clear-0 +waf +4f2a91c +True +[\dm]+s +\d* +True +[\dm]+s$/);
  });

  describe("a process that is killed between the record and the result", () => {
    test.each([
      { moment: "before the call took effect", afterEffect: false, clears: 1 },
      { moment: "after the call took effect", afterEffect: true, clears: 2 },
    ])("clears once more at most and never not at all: $moment", async ({ afterEffect, clears }) => {
      const { namespace, waf } = await world().newInstance("killed");
      await world().allReady(namespace);
      failOnClear(waf, { kind: "Timeout", afterEffect });
      const clear = cacheClear(namespace, "deploy", { backoffLimit: 0 });
      await world().apply(clear);
      const endpoint = "POST /clear";
      await world().eventually("the call is under way", () => (waf.view.counters.byEndpoint[endpoint] ?? 0) === 1);
      expect((await read(clear))?.status).toMatchObject({ attempts: 1 });
      expect((await world().operator.end("SIGKILL")).signal).toBe("SIGKILL");
      await world().startOperator();
      expect(await ended(clear)).toMatchObject({ over: "Complete Cleared", status: { attempts: 2 } });
      expect(clearsOf(waf)).toBe(clears);
    });
  });
});
