import { describe, expect, test } from "@jest/globals";
import { readOwners } from "../../src/model/rule-id.ts";
import { addresses, allowing, anInstance, blocking } from "../support/builders/declare.ts";
import { ConvergeWorld, converged } from "../support/worlds/converge-world.ts";

describe("A first sync", () => {
  test("records all entries, adds each with one call, and reads the written list and the domain twice, the rest once", async () => {
    const world = new ConvergeWorld({ declared: { rules: [blocking("feed", addresses(50))] } });
    expect((await world.pass()).result).toStrictEqual({ kind: "Done" });
    expect(world.waf.count("AddEntry")).toBe(50);
    expect(world.waf.count("ReadList", "blocklist")).toBe(2);
    expect(world.waf.count("ReadList", "allowlist")).toBe(1);
    // The domain is read again before the inventory is written, so that the lists certainly belong to this domain.
    expect(world.waf.count("ReadOrigins")).toBe(2);
    expect(world.waf.calls).toHaveLength(55);
    expect(world.waf.lists.blocklist.toSorted()).toStrictEqual(addresses(50).toSorted());
    expect(world.waf.overlaps).toBe(0);
    const firstAdd = world.journal.findIndex((line) => line.startsWith("AddEntry"));
    expect(world.journal.indexOf("saved")).toBeLessThan(firstAdd);
    expect(world.inventory.saves).toHaveLength(1);
    expect(world.owned().domain).toBe("shop.example");
  });

  test("calls after each save, however fast others declare more", async () => {
    const world = new ConvergeWorld({ declared: { rules: [blocking("urgent", ["203.0.113.1"])] } });
    world.inventory.onSaved = ({ entries: { blocklist } }) => {
      world.journal.push("saved");
      // Saving takes longer than the pause between two plans.
      world.clock.hold(1_000);
      const { rules } = world.declared();
      if (blocklist.size < 20)
        world.declare({ rules: [...rules, blocking(`more-${rules.length}`, addresses(1, rules.length))] });
    };
    await world.pass();
    const steps = world.journal.filter((line) => !line.startsWith("Read"));
    expect(steps.slice(0, 2)).toStrictEqual(["saved", "AddEntry blocklist 203.0.113.1"]);
  });

  test("goes on without a backoff, however often others declare more while it verifies", async () => {
    const world = new ConvergeWorld({ declared: { rules: [blocking("first", ["203.0.113.1"])] } });
    let more = 0;
    world.onCall(({ name, list }) => {
      if (name !== "ReadList" || list !== "blocklist" || more === 20) return;
      more += 1;
      const { rules } = world.declared();
      world.declare({ rules: [...rules, blocking(`more-${more}`, addresses(1, more))] });
    });
    const ends: string[] = [];
    for (let runs = 0; runs < 10 && ends.at(-1) !== "Done"; runs += 1) ends.push((await world.pass()).result.kind);
    expect(new Set(ends)).toStrictEqual(new Set(["Outdated", "Done"]));
    expect(world.waf.lists.blocklist).toHaveLength(21);
  });

  test("is followed by runs that write nothing and read each list once", async () => {
    const world = await converged({ rules: [blocking("feed", addresses(5)), allowing("office", ["192.0.2.0/24"])] });
    const calls = world.waf.calls.length;
    const saves = world.inventory.saves.length;
    const statusWrites = world.status.writes.length;
    const { result, wakeAtMs } = await world.pass();
    expect(result).toStrictEqual({ kind: "Done" });
    expect(wakeAtMs).toBe(world.clock.nowMs() + 300_000);
    expect(world.waf.calls.slice(calls).map(({ name, list }) => `${name} ${list ?? ""}`)).toStrictEqual([
      "ReadOrigins ",
      "ReadList blocklist",
      "ReadList allowlist",
    ]);
    expect(world.inventory.saves).toHaveLength(saves);
    expect(world.status.writes).toHaveLength(statusWrites);
  });

  test("records new owners once, without calls except the reads of a run, when a rule is renamed or split", async () => {
    const world = await converged({ rules: [blocking("feed", addresses(5))] });
    const calls = world.waf.calls.length;
    expect(
      (await world.pass({ rules: [blocking("one", addresses(3)), blocking("two", addresses(2, 3))] })).result,
    ).toStrictEqual({ kind: "Done" });
    expect(world.waf.calls).toHaveLength(calls + 3);
    expect(world.inventory.saves).toHaveLength(2);
    const owners = [...world.owned().entries.blocklist.values()].map((record) => readOwners(record.owners)[0]?.name);
    expect(owners).toStrictEqual(["edge/one", "edge/one", "edge/one", "edge/two", "edge/two"]);
    await world.pass();
    expect(world.inventory.saves).toHaveLength(2);
  });
});

describe("A change", () => {
  const three = ["192.0.2.1", "192.0.2.2", "192.0.2.3"];

  test.each([
    { change: "of nothing", addresses: three, calls: [] },
    {
      change: "that adds an entry",
      addresses: [...three, "192.0.2.4"],
      calls: ["ReadOrigins", "saved", "AddEntry blocklist 192.0.2.4", "ReadList blocklist"],
    },
    {
      change: "that removes an entry",
      addresses: three.slice(1),
      calls: ["saved", "RemoveEntry blocklist 192.0.2.1", "ReadList blocklist", "ReadOrigins", "saved"],
    },
  ])("$change makes the three reads of a run, and few calls more", async ({ addresses, calls }) => {
    const world = await converged({ rules: [blocking("feed", three)] });
    world.declare({ rules: [blocking("feed", addresses)] });
    world.journal.length = 0;
    await world.pass();
    expect(world.journal).toStrictEqual(["ReadOrigins", "ReadList blocklist", "ReadList allowlist", ...calls]);
  });
});

test("A suspended instance is read, nothing is written or recorded, and its status says what waits", async () => {
  const rules = [blocking("feed", ["192.0.2.1"])];
  const world = await converged({ rules, instance: anInstance({ suspend: true }) });
  expect([world.waf.writes(), world.waf.count("ReadList")]).toStrictEqual([[], 2]);
  expect(world.owned().entries.blocklist.size).toBe(0);
  expect(world.status.message(world.instance, "Ready")).toBe(
    "The instance is suspended; 1 change waits for spec.suspend: false.",
  );
});
