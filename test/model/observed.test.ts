import { describe, expect, test } from "@jest/globals";
import { observeSpellings } from "../../src/model/observed.ts";

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
});
