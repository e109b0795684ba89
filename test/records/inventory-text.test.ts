import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { readOwners, unknownOwners, writeOwners } from "../../src/model/rule-id.ts";
import type { Entry } from "../../src/address/entry.ts";
import type { Inventory } from "../../src/model/inventory.ts";
import { countManaged, emptyInventory } from "../../src/model/inventory.ts";
import { decodeInventory, encodeInventory } from "../../src/records/inventory-text.ts";
import { anOwnedEntry, anOwnedOrigin } from "../support/builders/gathered.ts";

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
            fc.integer({ min: 2, max: 1_000_000 }).map((lines) => ({ ...record, lines })),
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
  .map(([pending, count, sinceMs]) => ({ pending: new Set(pending), count, sinceMs }));
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
  approval: maybe(
    recordOf({
      hash: anyName,
      removals: recordOf({
        blocklist: fc.array(anyEntry).map((list) => new Set(list)),
        allowlist: fc.array(anyEntry).map((list) => new Set(list)),
      }),
    }),
  ),
  approvals: fc.nat({ max: 999_999_999 }),
  allowed: recordOf({ blocklist: anyAllowed, allowlist: anyAllowed }),
});

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
  approval: {
    hash: "f00d",
    removals: { blocklist: new Set([entry("192.0.2.5")]), allowlist: new Set() },
  },
  approvals: 3,
  version: 7,
  allowed: {
    blocklist: { pending: new Set([entry("203.0.113.9")]), count: 2, sinceMs: 0 },
    allowlist: { pending: new Set(), count: 0, sinceMs: 0 },
  },
};

describe("the text of an inventory", () => {
  test("consists of readable lines, with the entries of the same record in one section", () => {
    const text = encodeInventory(sample);
    const added = { manner: "Added", sinceMs: "1970-01-01T00:00:00.000Z", owners: "WafIpRule:shop/scanners" };
    const owners = "WafIpRule:shop/scanners WafIpRule:shop/scanners:ConfigMap%20shop/ipsum,%20key%20list";
    const adopted = { manner: "Adopted", sinceMs: null, owners, retainedBy: "shop/partners" };
    expect(JSON.parse(text)).toMatchObject({
      format: 1,
      entries: {
        blocklist: [
          { ...added, retainedBy: null, entries: ["203.0.113.7", "203.0.113.8"] },
          { ...adopted, entries: ["198.51.100.0/24"] },
        ],
        allowlist: [{ ...added, sinceMs: null, owners: "", entries: ["2001:db8::1"] }],
      },
    });
    expect(text).toContain('\n     "203.0.113.7",\n     "203.0.113.8"\n');
  });

  test("is decoded to the same inventory", () => {
    fc.assert(
      fc.property(anyInventory, (inventory) => {
        const decoded = decodeInventory(encodeInventory(inventory));
        expect(decoded.ok).toBe(true);
        if (!decoded.ok) return;
        expect(decoded.inventory).toStrictEqual(inventory);
        expect(encodeInventory(decoded.inventory)).toBe(encodeInventory(inventory));
      }),
    );
  });

  test("has one section for all entries of a list with the same record, which share one object", () => {
    const blocking = (count: number, first: string): Inventory => {
      const entries = Array.from({ length: count }, (_, index) => {
        const owners = writeOwners([{ ...scanners, name: index === 0 ? first : "shop/scanners" }]);
        return [entry(`192.0.2.${index}`), anOwnedEntry({ owners, sinceMs: 1_000 })] as const;
      });
      return { ...emptyInventory, entries: { blocklist: new Map(entries), allowlist: new Map() } };
    };
    const decoded = decodeInventory(encodeInventory(blocking(200, "shop/scanners")));
    if (!decoded.ok) throw new Error(decoded.problem);
    expect(new Set(decoded.inventory.entries.blocklist.values()).size).toBe(1);
    const lines = (inventory: Inventory) => encodeInventory(inventory).split("\n");
    const before = lines(blocking(200, "shop/scanners"));
    const added = lines(blocking(200, "shop/another")).filter((line) => !before.includes(line));
    expect(added.map((line) => line.trim())).toStrictEqual([
      '"owners": "WafIpRule:shop/another",',
      '"192.0.2.0"',
      "},",
    ]);
  });

  test("of a newer wafsync is refused with a message that says so", () => {
    const problem =
      "The inventory has format 2, but this version of wafsync reads format 1: run the newer version that wrote it.";
    const text = encodeInventory(sample).replace('"format": 1,', '"format": 2, "extra": 1,');
    expect(decodeInventory(text)).toStrictEqual({ ok: false, problem });
  });

  test.each([
    [/^\{/u, "", "it is not complete JSON"],
    [/^[^]*$/u, "[]", "is not understood"],
    ['"version": 7', '"version": -7', "version is not understood"],
    ['"version": 7', '"version": 7, "extra": 1', "extra"],
    ['"approvals": 3,', "", "approvals is not understood"],
    ['"203.0.113.7"', '"nonsense"', "entries.blocklist[0].entries[0] is not understood"],
    ['"203.0.113.8"', '"203.0.113.7"', "entries.blocklist is not understood: an entry is duplicated"],
    ['"198.51.100.0/24"', '"203.0.113.7"', "entries.blocklist is not understood: an entry is duplicated"],
    [/"origins": \[(\s+\[[^\]]+?\])\s+\]/u, '"origins": [$1,$1]', "origins is not understood"],
    [/"manner": "Adopted",/u, "", "entries.blocklist[1].manner is not understood"],
    ['"manner": "Adopted"', '"manner": "Found"', "entries.blocklist[1].manner is not understood"],
    ['"owners": "WafIpRule:', '"owners": "WafInstance:', "entries.blocklist[0].owners is not understood"],
    [/"sinceMs": "[^"]*",\s+"owners"/u, '"sinceMs": "yesterday", "owners"', "entries.blocklist[0].sinceMs"],
    ['"type": "Backup"', '"type": "Primary"', "origins[0][1].type is not understood"],
    ['"operation"', '"act"', "refusals[0].operation is not understood"],
    [/"handledAtMs": "[^"]*"/u, '"handledAtMs": null', "handledTriggers[0].handledAtMs is not understood"],
    ['"192.0.2.9"', '"nonsense"', "disputes[0].entry is not understood"],
    ['"203.0.113.9"', '"nonsense"', "allowed.blocklist.pending[0] is not understood"],
    [/"blocklist": \[\s+"192.0.2.5"/u, '"greylist": [', "approval is not understood"],
  ])("with %s replaced by %j is refused with the field", (from, to, problem) => {
    const text = encodeInventory(sample).replace(from, to);
    expect(decodeInventory(text)).toStrictEqual({ ok: false, problem: expect.stringContaining(problem) });
  });

  test("that ends after any of its lines is refused, because a partial inventory would orphan entries", () => {
    const lines = encodeInventory(sample).split("\n").slice(0, -1);
    for (let count = 0; count < lines.length; count += 1) {
      expect(decodeInventory(lines.slice(0, count).join("\n"))).toMatchObject({ ok: false });
    }
  });
});

test("Owners are the same string in any order, and can be parsed again", () => {
  const one = { kind: "WafIpRule", name: "shop/a", source: "ConfigMap shop/list, key a:b %" } as const;
  const two = { kind: "WafOrigin", name: "shop/a", source: undefined } as const;
  expect(writeOwners([one, two])).toBe(writeOwners([two, one, one]));
  expect(readOwners(writeOwners([two, one]))).toStrictEqual([one, two]);
  expect(readOwners(unknownOwners)).toStrictEqual([]);
});
