import { expect, test } from "@jest/globals";
import { ApiKey } from "../../../src/model/api-key.ts";
import { shardOfKey } from "../../../src/plan/shards/shard-of-key.ts";

const prints = Array.from({ length: 4_000 }, (_, index) => new ApiKey(`key-${index}`).fingerprint());

test("processes of all versions compute the same shards", () => {
  const shards = prints.slice(0, 12).map((print) => shardOfKey(print, 5));
  expect(shards).toMatchInlineSnapshot(`
[
  0,
  2,
  4,
  2,
  4,
  1,
  3,
  3,
  1,
  1,
  3,
  1,
]
`);
});

test.each([2, 3, 5, 16])("%s shards get about the same number of keys each", (shards) => {
  const counts = Array.from({ length: shards }, () => 0);
  for (const print of prints) {
    const shard = shardOfKey(print, shards);
    counts[shard] = (counts[shard] ?? 0) + 1;
  }
  const even = prints.length / shards;
  for (const count of counts) expect(Math.abs(count - even)).toBeLessThan(even * 0.25);
});

test("with one more shard, keys move only to the new one, and no more than its share", () => {
  for (const shards of [1, 2, 4, 9]) {
    const moved = prints.filter((print) => shardOfKey(print, shards) !== shardOfKey(print, shards + 1));
    expect(moved.filter((print) => shardOfKey(print, shards + 1) !== shards)).toStrictEqual([]);
    expect(moved.length).toBeLessThan((prints.length / (shards + 1)) * 1.25);
  }
});

test("without sharding, every key has the only shard", () => {
  expect(new Set(prints.map((print) => shardOfKey(print, 1)))).toStrictEqual(new Set([0]));
});
