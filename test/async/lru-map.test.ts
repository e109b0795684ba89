import { expect, test } from "@jest/globals";
import { LruMap } from "../../src/async/lru-map.ts";

test("the least recently used entry is evicted first", () => {
  const map = new LruMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 2);
  expect(map.get("a")).toBe(1);
  map.set("c", 3);
  expect([map.get("a"), map.get("b"), map.get("c")]).toStrictEqual([1, undefined, 3]);
  expect([map.delete("a"), map.delete("a")]).toStrictEqual([true, false]);
});
