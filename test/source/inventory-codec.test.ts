import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { writeOwners } from "../../src/model/entry-owners.ts";
import type { Entry } from "../../src/model/entry.ts";
import type { Inventory } from "../../src/model/inventory.ts";
import { countManaged, emptyInventory } from "../../src/model/inventory.ts";
import { decodeInventory, encodeInventory } from "../../src/source/inventory-codec.ts";
import { joinShards, shardInventory } from "../../src/source/inventory-shards.ts";
import { anOwnedEntry, anOwnedOrigin } from "../support/builders/owned.ts";

const entry = (text: string): Entry => text as Entry;

const anyEntry = fc
  .oneof(
    fc.ipV4(),
    fc.tuple(fc.ipV4(), fc.integer({ min: 8, max: 31 })).map(([address, bits]) => `${address}/${bits}`),
    fc.ipV6().map((address) => address.toLowerCase()),
    fc.string().map((text) => `?${text}`),
  )
  .map(entry);
const anyText = fc.string({ minLength: 1, unit: "binary", maxLength: 30 });
const anyName = fc.oneof(fc.constantFrom("shop/office", "default/a.b-c"), anyText);
const anyTime = fc.integer({ min: 0, max: 8_640_000_000_000_000 });
const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(arbitrary, { nil: undefined });
const anyList = fc.constantFrom("blocklist" as const, "allowlist" as const);

const anyManner = fc.constantFrom("Added" as const, "Adopted" as const);
/** Decoded objects have a prototype. */
function recordOf<T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> {
  return fc.record(model, { noNullPrototype: true });
}

const anyOwner = recordOf({
  kind: fc.constantFrom("WafIpRule" as const, "WafOrigin" as const),
  name: anyName,
  source: maybe(fc.oneof(fc.constant("ConfigMap shop/ipsum, key list: a"), anyText)),
});
const anyOwners = fc.array(anyOwner, { maxLength: 3 }).map(writeOwners);

const entryMap = fc
  .array(
    fc.tuple(
      anyEntry,
      recordOf({ owners: anyOwners, sinceMs: maybe(anyTime), manner: anyManner, retainedBy: maybe(anyName) }).chain(
        (record) =>
          fc.oneof(
            fc.constant(record),
            anyTime.map((missingSinceMs) => ({ ...record, missingSinceMs })),
          ),
      ),
    ),
    { maxLength: 20 },
  )
  .map((pairs) => new Map(pairs));
const originMap = fc
  .array(
    fc.tuple(
      anyName,
      recordOf({
        type: fc.constantFrom("Alternate" as const, "Backup" as const),
        addedAtMs: maybe(anyTime),
        unconfirmed: maybe(fc.string({ unit: "grapheme" })),
        retainedBy: maybe(anyName),
        owners: anyOwners,
        manner: anyManner,
      }),
    ),
    { maxLength: 5 },
  )
  .map((pairs) => new Map(pairs));
const anyManaged = recordOf({
  entries: recordOf({ blocklist: entryMap, allowlist: entryMap }),
  origins: originMap,
}).filter((managed) => countManaged(managed) > 0);
const anyAllowed = fc
  .tuple(fc.array(anyEntry, { maxLength: 5 }), fc.nat({ max: 999_999_999 }), anyTime)
  .map(([pending, count, sinceMs]) => ({ pending: new Set(pending), count, sinceMs: count === 0 ? 0 : sinceMs }));
const anyInventory: fc.Arbitrary<Inventory> = recordOf({
  version: fc.nat({ max: 999_999_999 }),
  domain: maybe(fc.domain()),
  waf: maybe(recordOf({ baseUrl: fc.webUrl(), keyMark: fc.stringMatching(/^[0-9a-f]{10}$/) })),
  continued: maybe(anyName),
  otherDomains: fc.array(fc.tuple(fc.domain(), anyManaged), { maxLength: 3 }).map((pairs) => new Map(pairs)),
  entries: recordOf({ blocklist: entryMap, allowlist: entryMap }),
  origins: originMap,
  refusals: fc.array(
    recordOf({ operation: anyText, message: fc.string({ unit: "binary" }), refusedAtMs: anyTime, wantedBy: anyText }),
    { maxLength: 5 },
  ),
  disputes: fc.array(recordOf({ list: anyList, entry: anyEntry, atMs: fc.array(anyTime, { maxLength: 10 }) }), {
    maxLength: 5,
  }),
  handledTriggers: fc.array(recordOf({ cacheClear: anyName, trigger: fc.string(), handledAtMs: anyTime }), {
    maxLength: 5,
  }),
  rollouts: fc.array(
    recordOf({
      workload: anyName,
      uid: fc.string(),
      revision: fc.string(),
      content: fc.string(),
      hasBegun: fc.boolean(),
      clearedAtMs: maybe(anyTime),
      attempts: fc.integer({ min: 0, max: 999_999_999 }),
      attemptedAtMs: maybe(anyTime),
    }),
    { maxLength: 5 },
  ),
  approval: maybe(
    recordOf({
      hash: anyName,
      removals: recordOf({
        blocklist: fc.array(anyEntry).map((list) => new Set(list)),
        allowlist: fc.array(anyEntry).map((list) => new Set(list)),
      }),
      origins: fc.array(anyName).map((hosts) => new Set(hosts)),
      holds: fc.array(anyName).map((keys) => new Set(keys)),
    }),
  ),
  approvals: fc.nat({ max: 999_999_999 }),
  allowed: recordOf({ blocklist: anyAllowed, allowlist: anyAllowed }),
});

/** Refusals, disputes and triggers are sets: their order and duplicates have no meaning. */
function normalized(inventory: Inventory): Inventory {
  const asSet = <T>(items: readonly T[]): T[] =>
    [...new Map(items.map((item) => [JSON.stringify(item, Object.keys(items[0] ?? {}).sort()), item]))]
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([, item]) => item);
  return {
    ...inventory,
    refusals: asSet(inventory.refusals),
    disputes: asSet(inventory.disputes),
    handledTriggers: asSet(inventory.handledTriggers),
    rollouts: asSet(inventory.rollouts),
  };
}

const scanners = { kind: "WafIpRule", name: "shop/scanners", source: undefined } as const;
const ofScanners = writeOwners([scanners]);
const ofBoth = writeOwners([{ ...scanners, source: "ConfigMap shop/ipsum, key list" }, scanners]);
const ofBackup = writeOwners([{ kind: "WafOrigin", name: "shop/backup", source: undefined }]);

const sample: Inventory = {
  domain: "shop.example.com",
  waf: { baseUrl: "https://api.example.com", keyMark: "0123456789" },
  continued: "shop/edge",
  otherDomains: new Map([
    [
      "staging.example.com",
      {
        entries: {
          blocklist: new Map([[entry("203.0.113.99"), anOwnedEntry({ owners: ofScanners, sinceMs: 0 })]]),
          allowlist: new Map(),
        },
        origins: new Map(),
      },
    ],
  ]),
  entries: {
    blocklist: new Map([
      [entry("203.0.113.7"), anOwnedEntry({ owners: ofScanners, sinceMs: 0 })],
      [entry("203.0.113.8"), anOwnedEntry({ owners: ofScanners, sinceMs: 0 })],
      [entry("198.51.100.0/24"), anOwnedEntry({ owners: ofBoth, manner: "Adopted", retainedBy: "shop/partners" })],
    ]),
    allowlist: new Map([[entry("2001:db8::1"), anOwnedEntry()]]),
  },
  origins: new Map([
    [
      "origin.example.com",
      anOwnedOrigin({ type: "Backup", addedAtMs: 0, owners: ofBackup, retainedBy: "shop/backup" }),
    ],
  ]),
  refusals: [{ operation: "blocklist +192.0.2.1", message: "no\nway", refusedAtMs: 0, wantedBy: "abc" }],
  disputes: [{ list: "blocklist", entry: entry("192.0.2.9"), atMs: [0, 1000] }],
  handledTriggers: [{ cacheClear: "shop/deploy", trigger: "commit 1", handledAtMs: 0 }],
  rollouts: [
    {
      workload: "Deployment shop/web",
      uid: "u-1",
      revision: "3",
      content: "c0ffee",
      hasBegun: true,
      clearedAtMs: 0,
      attempts: 1,
      attemptedAtMs: undefined,
    },
  ],
  approval: {
    hash: "f00d",
    removals: { blocklist: new Set([entry("192.0.2.5")]), allowlist: new Set() },
    origins: new Set(["standby.example"]),
    holds: new Set(["c0ffee"]),
  },
  approvals: 3,
  version: 7,
  allowed: {
    blocklist: { pending: new Set([entry("203.0.113.9")]), count: 2, sinceMs: 0 },
    allowlist: { pending: new Set(), count: 0, sinceMs: 0 },
  },
};

describe("the text of an inventory", () => {
  test("consists of plain, readable lines", () => {
    expect(encodeInventory(sample)).toStrictEqual({
      format: "2",
      domain: "shop.example.com",
      waf: "https://api.example.com 0123456789 shop/edge",
      owners:
        "gw7es57ubw Added 1970-01-01T00:00:00.000Z WafIpRule:shop/scanners\n" +
        "za869riwze Adopted - WafIpRule:shop/scanners WafIpRule:shop/scanners:ConfigMap%20shop/ipsum,%20key%20list\n",
      blocklist:
        "198.51.100.0/24 za869riwze retained-by=shop/partners\n203.0.113.7 gw7es57ubw\n203.0.113.8 gw7es57ubw\n",
      allowlist: "2001:db8::1\n",
      origins:
        "origin.example.com Backup added=1970-01-01T00:00:00.000Z retained-by=shop/backup owner=WafOrigin:shop/backup\n",
      refused:
        '{"operation":"blocklist +192.0.2.1","message":"no\\nway","refusedAt":"1970-01-01T00:00:00.000Z","wantedBy":"abc"}\n',
      disputes: "blocklist 192.0.2.9 1970-01-01T00:00:00.000Z 1970-01-01T00:00:01.000Z\n",
      triggers:
        '{"cacheClear":"shop/deploy","trigger":"commit 1","handledAt":"1970-01-01T00:00:00.000Z"}\n' +
        '{"workload":"Deployment shop/web","uid":"u-1","revision":"3","content":"c0ffee","begun":"true","clearedAt":"1970-01-01T00:00:00.000Z","attempts":"1","attemptedAt":""}\n',
      approval:
        "f00d\nf00d blocklist 192.0.2.5\nf00d hold c0ffee\nf00d origins standby.example\nremoved blocklist 2 1970-01-01T00:00:00.000Z\nremoving blocklist 203.0.113.9\nused 3\nversion 7\n",
      "other-domains": "staging.example.com blocklist 203.0.113.99 gw7es57ubw\n",
    });
  });

  test("is decoded to the same inventory", () => {
    fc.assert(
      fc.property(anyInventory, (inventory) => {
        const decoded = decodeInventory(encodeInventory(inventory));
        expect(decoded.ok).toBe(true);
        if (decoded.ok) expect(normalized(decoded.inventory)).toStrictEqual(normalized(inventory));
      }),
    );
  });

  test("is the same for the same inventory, whatever the order in memory", () => {
    const reversed: Inventory = {
      ...sample,
      entries: { ...sample.entries, blocklist: new Map([...sample.entries.blocklist].reverse()) },
    };
    expect(encodeInventory(reversed)).toStrictEqual(encodeInventory(sample));
  });

  test("is unaffected by an editor that changes line ends and adds an empty line", () => {
    const record = encodeInventory(sample);
    const edited = { ...record, blocklist: record["blocklist"]!.replaceAll("\n", "\r\n\r\n") };
    expect(decodeInventory(edited)).toStrictEqual(decodeInventory(record));
  });

  test("of a newer wafsync is refused with a message that says so", () => {
    const decoded = decodeInventory({ ...encodeInventory(sample), format: "4", extra: "1" });
    expect(decoded).toStrictEqual({
      ok: false,
      problem:
        "The inventory has format 4, but this version of wafsync reads formats up to 3: run the newer version that wrote it.",
    });
  });

  test.each([
    ["format", "", "format"],
    ["waf", "https://api.example.com", "section waf is invalid"],
    ["other-domains", "a.example blocklist nonsense\n", "other-domains, line 1"],
    ["other-domains", "a.example refused 192.0.2.1\n", "other-domains, line 1"],
    ["blocklist", "192.0.2.1\nnonsense\n", 'blocklist, line 2 is not understood: "nonsense"'],
    ["blocklist", "192.0.2.1\n192.0.2.1 retained-by=a/b\n", "blocklist, line 2"],
    ["allowlist", "192.0.2.1 retained-by=%\n", "allowlist, line 1"],
    ["owners", "0123456789 Found -\n", "owners, line 1"],
    ["owners", "0123456789 Added yesterday\n", "owners, line 1"],
    ["owners", "012 Added -\n", "owners, line 1"],
    ["owners", "0123456789 Added - WafInstance:shop/main\n", "owners, line 1"],
    ["origins", "a.example Primary\n", "origins, line 1"],
    ["origins", "a.example Backup added=yesterday\n", "origins, line 1"],
    ["refused", "{\n", "refused, line 1"],
    ["refused", '{"operation":"x"}\n', "refused, line 1"],
    ["disputes", "blocklist 192.0.2.1 never\n", "disputes, line 1"],
    ["triggers", "null\n", "triggers, line 1"],
    ["approval", "hash greylist 192.0.2.1\n", "approval, line 1"],
    ["approval", "used often\n", "approval, line 1"],
    ["surprise", "x", "surprise"],
  ])("with a damaged section %s is refused with its line", (section, text, problem) => {
    const decoded = decodeInventory({ ...encodeInventory(sample), [section]: text });
    expect(decoded).toStrictEqual({ ok: false, problem: expect.stringContaining(problem) });
  });

  test.each(Object.keys(encodeInventory(emptyInventory)))("without its section %s is refused", (section) => {
    const { [section]: _, ...rest } = encodeInventory(sample);
    expect(decodeInventory(rest)).toStrictEqual({ ok: false, problem: expect.stringContaining(section) });
  });
});

describe("shards of an inventory", () => {
  function bigInventory(count: number): Inventory {
    const blocklist = Array.from({ length: count }, (_, index) => [
      entry(`10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`),
      anOwnedEntry({
        owners: index % 2 === 0 ? ofScanners : ofBoth,
        sinceMs: index % 5,
        retainedBy: index % 7 === 0 ? "shop/retained" : undefined,
      }),
    ]);
    return { ...sample, entries: { ...sample.entries, blocklist: new Map(blocklist as never) } };
  }
  const bytesOf = (record: Record<string, string>): number => Object.entries(record).flat().join("").length;

  test("stay below the limit and give the same text in any order", () => {
    const record = encodeInventory(bigInventory(5_000));
    const shards = shardInventory(record, 20_000);
    expect(shards.length).toBeGreaterThan(1);
    expect(Math.max(...shards.map(bytesOf))).toBeLessThanOrEqual(20_000);
    expect(joinShards(shards.toReversed())).toStrictEqual({ ok: true, record });
  });

  test("are one for a small inventory", () => {
    const shards = shardInventory(encodeInventory(sample), 900_000);
    expect(shards).toHaveLength(1);
    expect(joinShards(shards)).toStrictEqual({ ok: true, record: encodeInventory(sample) });
  });

  test("that are incomplete, duplicate or without a number are refused", () => {
    const shards = shardInventory(encodeInventory(bigInventory(2_000)), 10_000);
    expect(joinShards(shards.slice(0, -1))).toMatchObject({ ok: false, problem: expect.stringContaining("missing") });
    expect(joinShards(shards.slice(1))).toMatchObject({ ok: false, problem: expect.stringContaining("shard 1") });
    expect(joinShards([...shards, shards[0]!])).toMatchObject({ ok: false, problem: expect.stringContaining("twice") });
    expect(joinShards([encodeInventory(sample)])).toMatchObject({ ok: false });
    expect(joinShards([])).toMatchObject({ ok: false });
    expect(joinShards(shards.map((shard) => ({ ...shard, format: "9" })))).toMatchObject({
      problem: expect.stringContaining("format 9"),
    });
  });

  test("with a line that is too large for any shard are a programming error", () => {
    expect(() => shardInventory(encodeInventory(sample), 50)).toThrow(RangeError);
  });

  test.each([
    ["grows", 1_000, 4_000],
    ["shrinks", 4_000, 1_000],
  ])("lose no entry if the writer is killed between two writes while the inventory %s", (_, before, after) => {
    const old = shardInventory(encodeInventory(bigInventory(before)), 12_000);
    const next = shardInventory(encodeInventory(bigInventory(after)), 12_000);
    const stored = new Map(old.map((shard, index) => [index, shard]));
    const needed = [...bigInventory(Math.min(before, after)).entries.blocklist.keys()];
    for (let index = next.length - 1; index >= 0; index -= 1) {
      stored.set(index, next[index]!);
      const joined = joinShards([...stored.values()]);
      const decoded = joined.ok ? decodeInventory(joined.record) : joined;
      expect(decoded.ok).toBe(true);
      if (!decoded.ok) continue;
      expect(needed.filter((one) => !decoded.inventory.entries.blocklist.has(one))).toStrictEqual([]);
    }
  });
});
