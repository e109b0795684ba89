import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { parseAllDocuments } from "yaml";
import { readOwners, unknownOwners, writeOwners } from "../../src/model/entry-owners.ts";
import type { Entry } from "../../src/model/entry.ts";
import type { Inventory, OwnedEntry } from "../../src/model/inventory.ts";
import { emptyInventory } from "../../src/model/inventory.ts";
import type { DecodedInventory } from "../../src/source/inventory-codec.ts";
import { decodeInventory, encodeInventory } from "../../src/source/inventory-codec.ts";
import { joinShards, shardInventory } from "../../src/source/inventory-shards.ts";
import { anOwnedEntry } from "../support/builders/owned.ts";

type Record = globalThis.Record<string, string>;

const ofRule = (name: string) => writeOwners([{ kind: "WafIpRule", name, source: undefined }]);

function decoded(result: DecodedInventory | ReturnType<typeof joinShards>): Inventory {
  const read = result.ok && "record" in result ? decodeInventory(result.record) : result;
  if (!read.ok) throw new Error(read.problem);
  return (read as { readonly inventory: Inventory }).inventory;
}

/** An inventory of 200 addresses, each with the owner and time of `recordOf`. */
function blocking(recordOf: (index: number) => OwnedEntry, count = 200): Inventory {
  const entries = Array.from({ length: count }, (_, index) => [`192.0.2.${index}` as Entry, recordOf(index)] as const);
  return { ...emptyInventory, entries: { blocklist: new Map(entries), allowlist: new Map() } };
}

async function golden(name: string): Promise<readonly unknown[]> {
  const text = await readFile(join(import.meta.dirname, "../fixtures/inventory-format-1", name), "utf8");
  return parseAllDocuments(text).map((document) => document.toJS() as unknown);
}

describe("An inventory of format 1", () => {
  const expected = {
    domain: "shop.example",
    refusals: [{ operation: "blocklist +192.0.2.77", message: "no\nway" }],
    handledTriggers: [{ cacheClear: "shop/deploy", trigger: "commit 1" }],
    approval: { hash: "0123456789ab" },
  };

  function expectWhole(inventory: Inventory): void {
    expect(inventory).toMatchObject(expected);
    expect(inventory.entries.blocklist.size).toBe(42);
    expect(inventory.entries.blocklist.get("198.51.100.0/24" as Entry)).toStrictEqual(
      anOwnedEntry({ retainedBy: "shop/partners" }),
    );
    expect(inventory.entries.allowlist).toStrictEqual(new Map([["203.0.113.9", anOwnedEntry()]]));
    expect(inventory.origins.get("standby.example")).toMatchObject({ owners: unknownOwners, manner: "Added" });
  }

  test("is read from a file, with unknown owners and times", async () => {
    const [{ instance: _, ...record }] = (await golden("file.yaml")) as [Record];
    expectWhole(decoded(decodeInventory(record)));
  });

  test("is read from ConfigMaps, and is of format 2 once it is written again", async () => {
    const maps = (await golden("config-maps.yaml")) as { readonly data: Record }[];
    expect(maps).toHaveLength(2);
    const inventory = decoded(joinShards(maps.map(({ data }) => data)));
    expectWhole(inventory);
    const record = encodeInventory(inventory);
    expect(record["format"]).toBe("2");
    expect(decoded(decodeInventory(record))).toStrictEqual(inventory);
  });

  test("loses nothing if the writer is killed between any two shards of the upgrade", async () => {
    const maps = (await golden("config-maps.yaml")) as { readonly data: Record }[];
    const inventory = decoded(joinShards(maps.map(({ data }) => data)));
    const owners = ofRule("shop/scanners");
    const learned = new Map([...inventory.entries.blocklist].map(([one, record]) => [one, { ...record, owners }]));
    const next = { ...inventory, entries: { ...inventory.entries, blocklist: learned } };
    for (const bytesMax of [700, 800, 2_000, 10_000]) {
      const stored = new Map(maps.map(({ data }, index) => [index, data]));
      const shards = shardInventory(encodeInventory(next), bytesMax);
      for (let index = shards.length - 1; index >= 0; index -= 1) {
        stored.set(index, shards[index]!);
        const read = decoded(joinShards([...stored.values()]));
        expect([...read.entries.blocklist.keys()].toSorted()).toStrictEqual([...learned.keys()].toSorted());
        for (const [one, record] of read.entries.blocklist) {
          expect([unknownOwners, owners]).toContain(record.owners);
          expect(record.retainedBy).toBe(learned.get(one)?.retainedBy);
        }
        expect(read).toMatchObject(expected);
        const known = [...read.entries.blocklist.values()].filter((record) => record.owners === owners);
        expect(known.length).toBeGreaterThan(0);
      }
    }
  });

  test("with a table of owners is damaged", async () => {
    const [{ instance: _, ...record }] = (await golden("file.yaml")) as [Record];
    expect(decodeInventory({ ...record, owners: "" })).toStrictEqual({
      ok: false,
      problem: expect.stringContaining('section "owners" is unknown'),
    });
  });
});

describe("The table of owners", () => {
  test("has one row for all entries with the same record, which share one object", () => {
    const record = encodeInventory(blocking(() => anOwnedEntry({ owners: ofRule("shop/a"), sinceMs: 1_000 })));
    expect(record["owners"]!.trim().split("\n")).toHaveLength(1);
    const { blocklist } = decoded(decodeInventory(record)).entries;
    expect(new Set(blocklist.values()).size).toBe(1);
  });

  test("derives row IDs from the content, so another row does not change them", () => {
    const a = anOwnedEntry({ owners: ofRule("shop/a"), sinceMs: 1_000 });
    const b = anOwnedEntry({ owners: ofRule("shop/0"), sinceMs: 1_000 });
    const before = encodeInventory(blocking(() => a, 1));
    const after = encodeInventory(blocking((index) => (index === 0 ? a : b), 2));
    expect(after["blocklist"]!.split("\n")[0]).toBe(before["blocklist"]!.split("\n")[0]);
  });

  test("that lacks a row makes the owners of its entries unknown, without damaging the inventory", () => {
    const record = encodeInventory(blocking(() => anOwnedEntry({ owners: ofRule("shop/a"), retainedBy: "shop/a" }), 1));
    const { blocklist } = decoded(decodeInventory({ ...record, owners: "" })).entries;
    expect([...blocklist.values()]).toStrictEqual([anOwnedEntry({ retainedBy: "shop/a" })]);
  });

  test("is in each shard, with the rows that the entries of that shard need", () => {
    const of = (index: number) => anOwnedEntry({ owners: ofRule(`shop/rule-${index % 20}`), sinceMs: index });
    const record = encodeInventory(blocking(of));
    const shards = shardInventory(record, 4_000);
    expect(shards.length).toBeGreaterThan(2);
    for (const shard of shards) {
      const alone = decoded(
        decodeInventory(Object.fromEntries(Object.entries(shard).filter(([name]) => name !== "shard"))),
      );
      for (const { owners } of alone.entries.blocklist.values()) expect(owners).not.toBe(unknownOwners);
      expect(shard["owners"]!.trim().split("\n")).toHaveLength(new Set(alone.entries.blocklist.values()).size);
    }
    expect(joinShards(shards)).toStrictEqual({ ok: true, record });
  });

  test("has no effect for an entry with two different rows after a crash", () => {
    const [a, b] = ["shop/a", "shop/b"].map((name) => {
      const record = blocking(() => anOwnedEntry({ owners: ofRule(name), sinceMs: 1 }), 1);
      return shardInventory(encodeInventory(record), 10_000)[0]!;
    });
    const joined = joinShards([
      { ...a!, shard: "1/1" },
      { ...b!, shard: "2/2" },
    ]);
    expect([...decoded(joined).entries.blocklist.values()]).toStrictEqual([anOwnedEntry()]);
  });
});

test("Owners are the same string in any order, and can be parsed again", () => {
  const one = { kind: "WafIpRule", name: "shop/a", source: "ConfigMap shop/list, key a:b %" } as const;
  const two = { kind: "WafOrigin", name: "shop/a", source: undefined } as const;
  expect(writeOwners([one, two])).toBe(writeOwners([two, one, one]));
  expect(readOwners(writeOwners([two, one]))).toStrictEqual([one, two]);
  expect(readOwners(unknownOwners)).toStrictEqual([]);
});
