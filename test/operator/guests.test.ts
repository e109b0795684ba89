// Attacks of a shared WAF's guests on its owner and on each other, each on a real API server.
import { beforeAll, expect, test } from "@jest/globals";
import { addresses, cacheClear, type Manifest, origin, rule } from "../support/builders/manifests.ts";
import type { ResourceKind } from "../../src/model/resource.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";
import { callsOf, conditionOf } from "../support/worlds/operator-world.ts";

await describeOperator("a WAF with guests", (world) => {
  beforeAll(async () => {
    await world().startOperator();
  });

  /** An instance and one of its guests, with this grant. */
  async function shared(prefix: string, grant: object) {
    const guest = await world().newNamespace(`${prefix}-guest`);
    const { namespace, waf } = await world().newInstance(prefix, {
      access: [{ namespaces: { names: [guest] }, ...grant }],
      guards: { maxRemovalPercent: 100 },
    });
    const of = { instanceRef: { name: "waf", namespace } };
    return { namespace, guest, waf, of };
  }

  async function becomes({ kind, metadata }: Manifest, type: string, expected: string): Promise<void> {
    await world().becomes(kind as ResourceKind, metadata.namespace, metadata.name, type, expected);
  }

  test("a guest without the grants declares no origin, no Allow rule and no cache clear", async () => {
    const { namespace, guest, waf, of } = await shared("plain", {});
    const asked = [
      origin(guest, "mine", "standby.example.com", of),
      rule(guest, "partners", ["203.0.113.0/24"], { ...of, action: "Allow" }),
      cacheClear(guest, "again", of),
    ];
    await world().apply(...asked);
    for (const one of asked) await becomes(one, "Accepted", "False NotAllowed");
    await world().allReady(namespace);
    await world().atRest();
    expect([waf.view.origins, waf.view.allowlist]).toStrictEqual([[], []]);
    expect(callsOf(waf)["GET /clear"] ?? 0).toBe(0);
  });

  test("an Allow rule of a guest lifts no block of the owner, regardless of its age and width", async () => {
    const { namespace, guest, waf, of } = await shared("conflict", { actions: ["Block", "Allow"] });
    const partner = rule(guest, "partner", ["203.0.113.9", "203.0.113.10"], { ...of, action: "Allow" });
    await world().apply(partner);
    await world().allReady(guest);
    expect(waf.view.allowlist).toHaveLength(2);
    await world().apply(rule(namespace, "scanners", ["203.0.113.9"]));
    await becomes(partner, "Accepted", "False Conflict");
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

  test("a guest has no more entries than its quota, and orphans none", async () => {
    const { guest, waf, of } = await shared("quota", { maxEntries: 10 });
    const first = rule(guest, "first", addresses(8), { ...of, deletionPolicy: "Retain" });
    const second = rule(guest, "second", addresses(8, 100), of);
    await world().apply(first);
    await becomes(first, "Accepted", "False NotAllowed");
    await world().apply(second);
    await becomes(second, "Accepted", "False InvalidEntries");
    await world().eventually("the quota is used", () => waf.view.blocklist.length === 10);
    await world().remove(first);
    await world().eventually("nothing of the deleted rule stays", () => waf.view.blocklist.length === 8);
    expect(waf.view.blocklist.every((entry) => entry.startsWith("198.18.0.1"))).toBe(true);
  });
});
