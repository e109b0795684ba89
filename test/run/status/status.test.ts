import { describe, expect, test } from "@jest/globals";
import { ApiKey } from "../../../src/model/api-key.ts";
import type { ResourceMeta } from "../../../src/model/resource.ts";
import {
  addresses,
  aRule,
  allowing,
  anInstance,
  anOrigin,
  blocking,
  createdMs,
} from "../../support/builders/declare.ts";
import { ConvergeWorld, converged } from "../../support/worlds/converge-world.ts";

function metaOf(world: ConvergeWorld, rule = 0): ResourceMeta {
  return world.declared().rules[rule]!.rule.meta;
}

describe("The status of an instance whose spec changed", () => {
  /** The successive values of `Ready` for generation 2. */
  function readyOfSecond(world: ConvergeWorld): string[] {
    return world.status.writes.flatMap(({ object, status }) => {
      if (!object.startsWith("WafInstance ") || status["observedGeneration"] !== 2) return [];
      const conditions = status["conditions"] as readonly { type: string; status: string }[];
      return conditions.flatMap((condition) => (condition.type === "Ready" ? [condition.status] : []));
    });
  }

  test("is Ready only for a generation that was reconciled", async () => {
    const world = await converged({ rules: [blocking("feed", addresses(2))] });
    await world.pass({ instance: anInstance({ requestTimeoutMs: 9_000, meta: { generation: 2 } }) });
    expect(readyOfSecond(world)).toStrictEqual(["Unknown", "True"]);
  });

  test("is never Ready for a generation that the WAF refuses", async () => {
    const world = await converged({ rules: [blocking("feed", addresses(2))] });
    const key = { state: "Present", key: new ApiKey("another-key") } as const;
    await world.pass({ key, instance: anInstance({ meta: { generation: 2 } }) });
    expect(readyOfSecond(world)).toStrictEqual(["Unknown", "False"]);
  });
});

describe("The status of a rule", () => {
  test("reports its progress, and that of the instance the rate and the remaining time", async () => {
    const world = new ConvergeWorld({ declared: { rules: [blocking("feed", addresses(600))] }, latencyMs: 500 });
    const { isOver } = world.begin();
    await world.clock.advance(100_000);
    expect(world.status.read(metaOf(world))).toMatchObject({ progress: expect.stringMatching(/^19\d\/600$/u) });
    expect(world.status.condition(metaOf(world), "Ready")).toBe("Unknown Pending");
    expect(world.status.condition(metaOf(world), "Synced")).toBe("Unknown Pending");
    expect(world.status.message(metaOf(world), "Synced")).toMatch(/^19\d of 600 entries are on the blocklist\.$/u);
    expect(world.status.message(world.instance, "Ready")).toMatch(
      /^40\d changes are still to be written\. (2|1\.9) calls per second, about 3 min 2\d s left\.$/u,
    );
    const writes = world.status.writes.filter(({ object }) => object === "WafIpRule edge/feed");
    expect(writes.length).toBeLessThanOrEqual(51);
    await world.clock.advanceUntil(isOver, 1_000_000);
    expect(world.status.read(metaOf(world))).toMatchObject({ progress: "600/600", lastChangeTime: expect.any(String) });
    expect(world.status.message(metaOf(world), "Ready")).toBe("All 600 entries are on the blocklist.");
  });

  test("counts the entries that belong on the list, and those that the rule declares", async () => {
    const instance = anInstance({ guards: { neverBlock: ["192.0.2.5", "203.0.113.9"] } });
    const except = ["192.0.2.5", "192.0.2.6"];
    const rules = [blocking("a", ["192.0.2.0/29", "192.0.2.4", "203.0.113.9", "198.51.100.7"], { except })];
    const world = await converged({ instance, rules });
    const listed = ["192.0.2.0/30", "192.0.2.4", "192.0.2.7", "198.51.100.7"];
    expect(world.waf.lists.blocklist.toSorted()).toStrictEqual(listed);
    expect(world.status.read(metaOf(world))).toMatchObject({
      entries: { desired: 4, synced: 4, pending: 0, rejected: 1, declared: 4 },
      progress: "4/5",
      rejected: [{ entry: "203.0.113.9", source: "spec.addresses[2]" }],
    });
    expect(world.status.message(metaOf(world), "Synced")).toBe("All 4 entries are on the blocklist.");
    await world.pass({ instance, rules: [blocking("a", ["198.51.100.7"], { meta: { generation: 2 } })] });
    const status = world.status.read(metaOf(world));
    expect(status).toMatchObject({ entries: { desired: 1, synced: 1, pending: 0, rejected: 0 } });
    expect(status).not.toHaveProperty("entries.declared");
  });

  test("stays small with the longest messages of the API, the longest names and the longest lines", async () => {
    const name = `${"n".repeat(63)}/${"r".repeat(253)}`;
    const feed = addresses(40);
    const long = Array.from({ length: 30 }, (_, index) => `${"x".repeat(400)}${index}`);
    const rules = [
      aRule(name, { addresses: feed, meta: { createdAtMs: createdMs - 1 } }),
      aRule(`${"m".repeat(63)}/${"s".repeat(253)}`, { action: "Allow", addresses: feed }),
      aRule("long", { texts: [long.join("\n")] }),
    ];
    const world = new ConvergeWorld({ declared: { rules } });
    const fault = { code: "Rejected", message: `${"w".repeat(299)}…`, status: 400 } as const;
    world.waf.failOn({ on: "AddEntry", times: 100, effect: "Before", fault });
    await world.pass();
    expect(world.status.condition(metaOf(world, 0), "Ready")).toBe("False Rejected");
    expect(world.status.condition(metaOf(world, 1), "Ready")).toBe("False Conflict");
  });

  test("reports when the WAF becomes unreachable, and when it is reachable again", async () => {
    const world = await converged({ rules: [blocking("feed", addresses(2))], origins: [anOrigin("a.example")] });
    const fault = { code: "Unavailable", message: "https://waf.example can't be reached (ECONNREFUSED)." } as const;
    world.waf.failOn({ on: "Read", effect: "Before", times: 3, fault });
    for (let count = 0; count < 3; count += 1) {
      await world.sleepUntil((await world.pass()).wakeAtMs);
      for (const meta of [world.instance, metaOf(world), world.declared().origins[0]!.meta]) {
        expect(world.status.condition(meta, "Ready")).toBe("False ApiUnavailable");
        expect(world.status.condition(meta, "Reconciling")).toBe("True ApiUnavailable");
      }
    }
    expect(world.status.read(metaOf(world))).toMatchObject({ progress: "2/2" });
    await world.pass();
    expect(world.status.condition(metaOf(world), "Ready")).toBe("True Synced");
    expect(world.status.eventReasons().slice(-2)).toStrictEqual(["ApiUnavailable", "Recovered"]);
  });
});

describe("The status of an instance", () => {
  test("counts live, managed and foreign entries, and removals on hold", async () => {
    const rules = [blocking("a", addresses(3)), allowing("b", ["192.0.2.1"])];
    const world = new ConvergeWorld({ declared: { rules } });
    world.waf.lists.blocklist.push("203.0.113.9");
    await world.pass();
    expect(world.status.read(world.instance)).toMatchObject({
      domain: "shop.example",
      primaryOrigin: "origin.shop.example",
      attachedRules: 2,
      attachedOrigins: 0,
      blocklist: { live: 4, managed: 3, foreign: 1, pending: 0, held: 0 },
      allowlist: { live: 1, managed: 1, foreign: 0, pending: 0, held: 0 },
    });
    expect(world.status.message(world.instance, "Ready")).toBe(
      "The WAF matches the declared state: blocklist 4 (3 managed, 1 unmanaged), allowlist 1 (1 managed, 0 unmanaged).",
    );
  });

  test("shows the plan under Observe, and the rule reports that it is not in effect", async () => {
    const instance = anInstance({ policies: { blocklist: "Observe" } });
    const world = await converged({ instance, rules: [blocking("a", addresses(30))] });
    expect(world.status.read(world.instance)).toMatchObject({ plan: { additions: 30, removals: 0 } });
    expect((world.status.read(world.instance) as { plan: { examples: string[] } }).plan.examples).toHaveLength(10);
    expect(world.status.condition(metaOf(world), "Synced")).toBe("False Observed");
    await world.pass({ rules: [] });
    expect(world.status.read(world.instance)).not.toHaveProperty("plan");
  });
});

test("Events about an unchanged state are emitted once, even if runs fail in between", async () => {
  const rules = [blocking("bad", ["192.0.2.1", "nonsense"]), blocking("refused", ["192.0.2.2"])];
  const world = new ConvergeWorld({ declared: { rules } });
  world.waf.refusedTexts.add("192.0.2.2");
  await world.pass();
  const told = world.status.eventReasons();
  expect(told.toSorted()).toStrictEqual(["EntriesAdded", "EntriesAdded", "InvalidEntries", "Rejected"]);
  await world.pass();
  const fault = { code: "TimedOut", message: "No answer came within 10 s." } as const;
  world.waf.failOn({ on: "Read", effect: "Before", fault });
  await world.sleepUntil((await world.pass()).wakeAtMs);
  await world.pass();
  expect(world.status.eventReasons().slice(told.length)).toStrictEqual(["ApiUnavailable", "Recovered"]);
});
