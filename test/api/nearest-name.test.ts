import { expect, test } from "@jest/globals";
import { nearestName } from "../../src/api/nearest-name.ts";

const known = ["addresses", "addressesFrom", "action", "ttl", "host"];

test.each([
  ["adresses", "addresses"],
  ["ADDRESSES", "addresses"],
  ["hots", "host"],
  ["addressFrom", "addressesFrom"],
  ["acton", "action"],
])("%s is taken for %s", (name, meant) => {
  expect(nearestName(name, known)).toBe(meant);
});

test.each(["", "x", "priority", "tl", "a".repeat(100_000)])("nothing is near %.20s", (name) => {
  expect(nearestName(name, ["addresses", "host"])).toBeUndefined();
});
