import { readFile, writeFile } from "node:fs/promises";
import { describe, expect, test } from "@jest/globals";
import { realClock } from "../../../src/async/clock.ts";
import type { Entry } from "../../../src/model/entry.ts";
import { type Inventory, emptyInventory } from "../../../src/model/inventory.ts";
import { type InventoryFiles, createInventoryFiles } from "../../../src/source/directory/inventory-files.ts";
import { type StateDirectory, openStateDirectory } from "../../../src/source/directory/state-directory.ts";
import { type ScratchDirectory, scratchDirectory } from "../../support/worlds/scratch-directory.ts";
import { anOwnedEntry } from "../../support/builders/owned.ts";

const main = { namespace: "shop", name: "main" };
const file = ["inventory", "shop", "main.yaml"];

interface Store extends AsyncDisposable {
  readonly files: InventoryFiles;
  readonly state: StateDirectory;
}

async function openStore(scratch: ScratchDirectory): Promise<Store> {
  const opened = await openStateDirectory({ path: scratch.path, command: "wafsync run", clock: realClock });
  if (!opened.ok) throw new Error(opened.problem);
  const { state } = opened;
  return { state, files: createInventoryFiles(state), [Symbol.asyncDispose]: async () => await state.release() };
}

function blocking(...addresses: string[]): Inventory {
  const blocklist = new Map(addresses.map((address) => [address as Entry, anOwnedEntry()]));
  return { ...emptyInventory, domain: "shop.example.com", entries: { blocklist, allowlist: new Map() } };
}

describe("the inventory in a file", () => {
  test("is empty if nothing was stored, and is restored as it was saved", async () => {
    await using scratch = await scratchDirectory();
    await using store = await openStore(scratch);
    expect(await store.files.load(main)).toStrictEqual({ state: "Loaded", inventory: emptyInventory, revision: "" });
    const inventory = blocking("192.0.2.1", "2001:db8::/32");
    const saved = await store.files.save(main, inventory, "");
    const revision = saved.state === "Saved" ? saved.revision : "";
    expect(await store.files.load(main)).toStrictEqual({ state: "Loaded", inventory, revision });
    expect(await store.files.save(main, blocking("192.0.2.2"), revision)).toMatchObject({ state: "Saved" });
  });

  test("is readable for users", async () => {
    await using scratch = await scratchDirectory();
    await using store = await openStore(scratch);
    await store.files.save(main, blocking("192.0.2.1", "192.0.2.2"), "");
    expect(await readFile(store.state.pathOf(file), "utf8")).toBe(
      '# The entries that wafsync manages on this WAF. wafsync writes this file: do not edit it.\ninstance: shop/main\nformat: "2"\ndomain: shop.example.com\nwaf: ""\nowners: ""\nblocklist: |\n  192.0.2.1\n  192.0.2.2\nallowlist: ""\norigins: ""\nrefused: ""\ndisputes: ""\ntriggers: ""\napproval: ""\nother-domains: ""\n',
    );
  });

  test("is not saved over one that another writer has changed or removed since", async () => {
    await using scratch = await scratchDirectory();
    await using store = await openStore(scratch);
    const saved = await store.files.save(main, blocking("192.0.2.1"), "");
    const revision = saved.state === "Saved" ? saved.revision : "";
    expect(await store.files.save(main, blocking("192.0.2.2"), "")).toMatchObject({ state: "Conflict" });
    const text = await readFile(store.state.pathOf(file), "utf8");
    await writeFile(store.state.pathOf(file), text.replace("192.0.2.1", "192.0.2.9"));
    expect(await store.files.save(main, blocking("192.0.2.2"), revision)).toMatchObject({ state: "Conflict" });
    expect(await store.files.load(main)).toMatchObject({ inventory: blocking("192.0.2.9") });
    await store.state.remove(file);
    expect(await store.files.save(main, blocking("192.0.2.2"), revision)).toMatchObject({ state: "Conflict" });
  });

  test("accepts only one of two concurrent saves", async () => {
    await using scratch = await scratchDirectory();
    await using store = await openStore(scratch);
    const saves = ["192.0.2.1", "192.0.2.2"].map(
      async (address) => await store.files.save(main, blocking(address), ""),
    );
    expect((await Promise.all(saves)).map(({ state }) => state)).toStrictEqual(["Saved", "Conflict"]);
  });

  test.each([
    ["an empty file", () => "", /damaged: the file is empty/],
    ["a truncated file", (text: string) => text.slice(0, text.indexOf("allowlist")), /section allowlist is missing/],
    ["a line that is not an address", (text: string) => text.replace("192.0.2.1", "192-0-2-1"), /blocklist, line 1/],
    ["no YAML", (text: string) => `${text}\t{`, /damaged: line \d+, this is not valid YAML/],
    ["a section that is not a string", (text: string) => text.replace('"2"', "2"), /section format is not a string/],
    [
      "a newer format",
      (text: string) => text.replace('"2"', '"4"'),
      /format 4, but this version of wafsync reads formats up to 3/,
    ],
    [
      "the file of another instance",
      (text: string) => text.replace("shop/main", "shop/other"),
      /belongs to another instance/,
    ],
  ])("with %s is unreadable, and says where and why", async (_, damage, problem) => {
    await using scratch = await scratchDirectory();
    await using store = await openStore(scratch);
    await store.files.save(main, blocking("192.0.2.1"), "");
    const path = store.state.pathOf(file);
    await writeFile(path, damage(await readFile(path, "utf8")));
    const loaded = await store.files.load(main);
    expect(loaded).toMatchObject({ state: "Unreadable", problem: expect.stringMatching(problem) });
    expect(loaded.state === "Unreadable" && loaded.problem.startsWith(path)).toBe(true);
  });

  test("is listed with all others, even with a name of maximum length", async () => {
    await using scratch = await scratchDirectory();
    await using store = await openStore(scratch);
    const long = { namespace: "ops", name: `${"a".repeat(250)}.b1` };
    const similar = { ...long, name: `${"a".repeat(250)}.b2` };
    for (const instance of [main, long, similar]) await store.files.save(instance, blocking("192.0.2.1"), "");
    const listed = await store.files.list();
    expect(listed.ok && new Set(listed.value.map(({ name }) => name))).toStrictEqual(
      new Set([main.name, long.name, similar.name]),
    );
    expect(await store.files.load(similar)).toMatchObject({ state: "Loaded", inventory: blocking("192.0.2.1") });
  });

  test("fails to save, and says why, once the directory was released", async () => {
    await using scratch = await scratchDirectory();
    const store = await openStore(scratch);
    await store.state.release();
    expect(await store.files.save(main, blocking("192.0.2.1"), "")).toMatchObject({ state: "Failed" });
  });
});
