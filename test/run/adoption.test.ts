import { describe, expect, test } from "@jest/globals";
import { instanceLines, planVerdict, viewInstance } from "../../src/cli/instance-view.ts";
import { addresses, anInstance, anOrigin, blocking } from "../support/builders/declare.ts";
import { anInventory, entry } from "../support/builders/gathered.ts";
import { ConvergeWorld } from "../support/worlds/converge-world.ts";

const adopt = { meta: { annotations: { "wafsync.dev/adopt": "true" } } };
const foreign = 1_413;

function worldOfForeign(rule = blocking("office", addresses(foreign), adopt)): ConvergeWorld {
  const world = new ConvergeWorld({ declared: { rules: [rule] } });
  world.waf.lists.blocklist.push(...addresses(foreign));
  return world;
}

function messages(world: ConvergeWorld, reason: string): string[] {
  return world.status.events.filter((event) => event.reason === reason).map(({ message }) => message);
}

test("A rule that adopts makes foreign entries managed in one run without a write, and two events name the first ten", async () => {
  const world = worldOfForeign();
  const { result, facts } = await world.pass();
  expect(result).toStrictEqual({ kind: "Done" });
  expect(world.waf.calls.filter(({ name }) => !name.startsWith("Read"))).toStrictEqual([]);
  expect(facts?.done.adopted).toBe(foreign);
  expect([...world.owned().entries.blocklist.values()].every(({ manner }) => manner === "Adopted")).toBe(true);
  const message = `Adopted 1,413 entries for WafIpRule edge/office: ${addresses(10).join(", ")} and 1,403 more.`;
  expect(messages(world, "EntriesAdopted")).toStrictEqual([message, message]);
  expect(messages(world, "RecordMissing")).toStrictEqual([]);
  await world.pass();
  expect(messages(world, "EntriesAdopted")).toHaveLength(2);
});

describe("What a plan prints", () => {
  const plain = (_style: string, text: string): string => text;
  const look = { readStatus: () => undefined, placeOf: () => "" };

  async function printed(world: ConvergeWorld): Promise<string> {
    const view = viewInstance((await world.preview())!, look, []);
    return instanceLines(view, planVerdict(view, false), plain).join("\n");
  }

  test("counts adoptions as changes", async () => {
    const text = await printed(worldOfForeign());
    expect(text).toContain("= blocklist  198.18.0.0");
    expect(text).toContain("already on the list, adopted for WafIpRule edge/office without a call");
    expect(text).toContain("Plan: 0 to add, 0 to remove, 1,413 to adopt without a call.");
  });

  test("warns if there is no record and declared entries are on the lists", async () => {
    const world = worldOfForeign(blocking("office", addresses(foreign)));
    const warning =
      "There is no record of earlier runs, and 1,413 declared entries are already on the lists. Entries without a record are unmanaged";
    expect(await printed(world)).toContain(`warning: ${warning}`);
    await world.pass();
    expect(messages(world, "RecordMissing")).toStrictEqual([expect.stringContaining(warning)]);
    await world.pass();
    expect(messages(world, "RecordMissing")).toHaveLength(1);
    const later = await printed(world);
    expect(later).toContain("satisfied by an unmanaged entry, which stays when no rule declares it any longer");
    expect(later).toContain("… and 1,408 more like these");
    expect(later).toContain("Plan: 0 to add, 0 to remove, 1,413 already on the WAF and unmanaged.");
  });

  test("names the entries that do not fit", async () => {
    const instance = anInstance({ lists: { blocklist: { maxEntries: 1 } } });
    const world = new ConvergeWorld({ declared: { instance, rules: [blocking("more", addresses(2))] } });
    const text = "the list has no room for it (spec.blocklist.maxEntries of the instance)";
    expect(await printed(world)).toContain(text);
  });

  test("is a pause of corrections only while there is something to correct", async () => {
    const [text = ""] = addresses(1);
    const world = new ConvergeWorld({ declared: { rules: [blocking("feed", [text])] } });
    const atMs = [4, 3, 2, 1].map((minutes) => world.clock.nowMs() - minutes * 60_000);
    const disputes = [{ list: "blocklist" as const, entry: entry(text), atMs }];
    world.inventory.put(world.instance, anInventory({ blocklist: [text], disputes }));
    const paused = /\? blocklist {2}\S+ {2}another writer keeps reverting it: corrections are paused/;
    expect(await printed(world)).toMatch(paused);
    world.waf.lists.blocklist.push(text);
    expect(await printed(world)).toContain("Nothing to do: the WAF matches the declared state.");
  });
});

describe("An origin that exists already", () => {
  test("is adopted if its WafOrigin requests it, whatever the API's words, and removed with the WafOrigin", async () => {
    const world = new ConvergeWorld({ declared: { origins: [anOrigin("a.example", adopt)] } });
    world.waf.origins.set("a.example", "Alternate");
    await world.pass();
    expect(world.owned().origins.get("a.example")).toMatchObject({ manner: "Adopted", type: "Alternate" });
    const said = "the request was not accepted.), but its WafOrigin adopts it: wafsync counts it as added";
    expect(messages(world, "AddedUnconfirmed")).toStrictEqual([expect.stringContaining(said)]);
    const { meta } = world.declared().origins[0]!;
    expect(world.status.condition(meta, "Ready")).toBe("True Synced");
    expect(world.status.read(meta)).toMatchObject({ state: "AddedUnconfirmed" });
    expect(world.status.message(meta, "Ready")).toContain("wafsync.dev/adopt says that it exists");
    await world.pass({ origins: [] });
    expect(world.waf.origins.size).toBe(0);
  });

  test("is refused without the annotation, whatever the API's words, and adopted as soon as it has the annotation", async () => {
    const world = new ConvergeWorld({ declared: { origins: [anOrigin("a.example")] } });
    world.waf.origins.set("a.example", "Alternate");
    const message = "The origin exists already.";
    world.waf.failOn({ on: "AddOrigin", effect: "Before", fault: { code: "Rejected", message, status: 400 } });
    await world.pass();
    expect(world.owned().origins.size).toBe(0);
    const { meta } = world.declared().origins[0]!;
    expect(world.status.condition(meta, "Ready")).toBe("False Rejected");
    expect(world.status.message(meta, "Ready")).toContain('annotate the WafOrigin with wafsync.dev/adopt: "true"');
    await world.pass();
    expect(world.waf.count("AddOrigin")).toBe(1);
    await world.pass({ origins: [anOrigin("a.example", adopt)] });
    expect(world.waf.count("AddOrigin")).toBe(2);
    expect(world.status.condition(meta, "Ready")).toBe("True Synced");
    expect(world.status.read(meta)).toMatchObject({ state: "AddedUnconfirmed" });
    expect(world.status.condition(world.instance, "Ready")).toBe("True Synced");
  });

  test.each(["After", "Before"] as const)(
    "counts as added if the outcome of a first addition is unknown (%s its effect), and is never removed to find out",
    async (effect) => {
      const world = new ConvergeWorld({ declared: { origins: [anOrigin("a.example", { type: "Backup" })] } });
      const fault = { code: "TimedOut", message: "No answer." } as const;
      world.waf.failOn({ on: "AddOrigin", nth: 1, effect, fault });
      if (effect === "Before") world.waf.refusedTexts.add("a.example");
      await world.pass();
      expect(world.owned().origins.get("a.example")?.addedAtMs).toBeUndefined();
      await world.passAfter(600_000);
      const { meta } = world.declared().origins[0]!;
      expect(world.owned().origins.get("a.example")).toMatchObject({ type: "Backup", addedAtMs: expect.any(Number) });
      expect(world.status.condition(meta, "Ready")).toBe("True Synced");
      expect(world.status.read(meta)).toMatchObject({ state: "AddedUnconfirmed" });
      expect(world.status.message(meta, "Ready")).toContain("an earlier call may have added it");
      expect(messages(world, "AddedUnconfirmed")).toStrictEqual([
        expect.stringContaining("counts it as added with type Backup. Origins can't be read back, so check"),
      ]);
      await world.passAfter(7_200_000);
      expect(world.waf.writes()).toStrictEqual(["AddOrigin a.example", "AddOrigin a.example"]);
    },
  );

  test("is confirmed by a later addition that the API accepts", async () => {
    const world = new ConvergeWorld({ declared: { origins: [anOrigin("a.example", adopt)] } });
    world.waf.refusedTexts.add("a.example");
    await world.pass();
    world.waf.refusedTexts.clear();
    await world.pass({ origins: [] });
    await world.pass({ origins: [anOrigin("a.example", adopt)] });
    const { meta } = world.declared().origins[0]!;
    expect(world.status.condition(meta, "Ready")).toBe("True Synced");
    expect(world.status.read(meta)).toMatchObject({ state: "Added" });
  });
});
