// WafCacheClear objects on a real control plane: one call for many.
import { beforeAll, expect, test } from "@jest/globals";
import { cacheClear } from "../support/builders/manifests.ts";
import { slow } from "../support/processes/slowness.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";
import { type TestWaf } from "../support/worlds/operator-world.ts";

await describeOperator("cache clears", (world) => {
  beforeAll(async () => {
    await world().startOperator();
  });

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
  });
});
