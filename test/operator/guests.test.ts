// An attack of a shared WAF's guest on its owner, on a real API server.
import { beforeAll, expect, test } from "@jest/globals";
import { cacheClear, rule } from "../support/builders/manifests.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";
import { conditionOf } from "../support/worlds/operator-world.ts";

await describeOperator("a WAF with guests", (world) => {
  beforeAll(async () => {
    await world().startOperator();
  });

  test("a guest clears no cache without a grant, and its Allow rule lifts no block of the owner, regardless of its age and width", async () => {
    const guest = await world().newNamespace("guest");
    const { namespace, waf } = await world().newInstance("conflict", {
      access: [{ namespaces: { names: [guest] }, actions: ["Block", "Allow"] }],
      guards: { maxRemovalPercent: 100 },
    });
    const of = { instanceRef: { name: "waf", namespace } };
    const partner = rule(guest, "partner", ["203.0.113.9", "203.0.113.10"], { ...of, action: "Allow" });
    await world().apply(partner);
    await world().allReady(guest);
    // The default grant has no cache clears.
    await world().apply(cacheClear(guest, "again", of));
    await world().becomes("WafCacheClear", guest, "again", "Accepted", "False NotAllowed");
    expect(waf.view.counters.cacheClears).toBe(0);
    expect(waf.view.allowlist).toHaveLength(2);
    await world().apply(rule(namespace, "scanners", ["203.0.113.9"]));
    await world().becomes("WafIpRule", guest, "partner", "Accepted", "False Conflict");
    await world().eventually("the owner's block stands", () => waf.view.has("blocklist", "203.0.113.9"));
    await world().eventually("the exception is gone", () => !waf.view.has("allowlist", "203.0.113.9"));
    expect(waf.view.allowlist).toStrictEqual(["203.0.113.10"]);
    const told = conditionOf(await world().read("WafIpRule", guest, "partner"), "Ready")?.message ?? "";
    expect(told).not.toContain(`${namespace}/scanners`);
    const wide = rule(guest, "wide", ["203.0.113.0/24"], { ...of, action: "Allow" });
    await world().apply(wide);
    await world().eventually("the wider exception is rejected", async () => {
      const status = (await world().read("WafIpRule", guest, "wide"))?.status as {
        readonly rejected?: readonly unknown[];
      };
      return status?.rejected?.length === 1;
    });
    await world().atRest();
    expect(waf.view.allowlist).toStrictEqual(["203.0.113.10"]);
  });
});
