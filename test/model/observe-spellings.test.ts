import { describe, expect, test } from "@jest/globals";
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
