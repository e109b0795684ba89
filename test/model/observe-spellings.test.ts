import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { observeSpellings } from "../../src/model/observe-spellings.ts";

describe("a list as observed", () => {
  test("collects the spellings of one network in the order of the list", () => {
    const observed = observeSpellings([
      "10.1.2.3/8",
      "192.0.2.1",
      "10.0.0.0/8",
      "192.0.2.1/32",
      "office",
      "10.1.2.3/8",
    ]);
    expect([...observed]).toStrictEqual([
      ["10.0.0.0/8", ["10.1.2.3/8", "10.0.0.0/8", "10.1.2.3/8"]],
      ["192.0.2.1", ["192.0.2.1", "192.0.2.1/32"]],
      ["?office", ["office"]],
    ]);
  });

  test("uses a known spelling without parsing it", () => {
    // Parsing would turn this string into an opaque entry, so the entry proves that it was not parsed.
    expect([...observeSpellings(["not parsed", "other"], new Set(["not parsed"])).keys()]).toStrictEqual([
      "not parsed",
      "?other",
    ]);
  });

  test("looks up each of 100,000 known spellings once and parses none", () => {
    const spellings = Array.from({ length: 100_000 }, (_, position) => `not parsed ${position}`);
    let asked = 0;
    const observed = observeSpellings(spellings, { has: () => ++asked > 0 });
    expect(asked).toBe(spellings.length);
    expect(observed.size).toBe(spellings.length);
    expect([...observed.keys()].some((entry) => entry.startsWith("?"))).toBe(false);
  });
});

describe("a list that was read before", () => {
  const size = 400;
  const before = observeSpellings([
    "192.0.2.1/32",
    ...Array.from({ length: size }, (_, index) => `198.18.${index >> 8}.${index & 255}`),
    "office",
  ]);

  test("is the same object if the list is unchanged, and always equals the result of a full read", () => {
    const shown = [...before.values()].flat();
    expect(observeSpellings([...shown], undefined, before)).toBe(before);
    const edits = fc.array(
      fc.record({
        place: fc.nat({ max: shown.length }),
        removes: fc.nat({ max: 3 }),
        adds: fc.subarray(["203.0.113.1", "192.0.2.1", "192.0.2.1/32", "198.18.0.9", "198.18.0.9/32", "hall"]),
        atEnd: fc.boolean(),
      }),
      { maxLength: 3 },
    );
    fc.assert(
      fc.property(edits, (drawn) => {
        const list = [...shown];
        for (const { place, removes, adds, atEnd } of drawn) {
          list.splice(place, removes, ...(atEnd ? [] : adds));
          if (atEnd) list.push(...adds);
        }
        const again = observeSpellings(list, undefined, before);
        expect([...again]).toStrictEqual([...observeSpellings(list)]);
      }),
    );
  });
});
