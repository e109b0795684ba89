import { expect, test } from "@jest/globals";
import { nearestName } from "../../src/kinds/nearest-name.ts";

const known = ["addresses", "addressesFrom", "action", "ttl", "host"];

test.each([
  ["adresses", "addresses"],
  ["ADDRESSES", "addresses"],
  ["hots", "host"],
  ["addressFrom", "addressesFrom"],
  ["acton", "action"],
])("%s is recognized as %s", (name, meant) => {
  expect(nearestName(name, known)).toBe(meant);
});

test.each(["", "x", "priority", "tl", "a".repeat(100_000)])("no known name is similar to %.20s", (name) => {
  expect(nearestName(name, ["addresses", "host"])).toBeUndefined();
});
