import { expect, test } from "@jest/globals";
import { loadOf, shardToGive, takeDelayMs, wantsShard } from "../../../src/plan/shards/balance.ts";

function held(...holders: readonly (string | undefined)[]): Map<number, string> {
  return new Map(holders.flatMap((holder, shard) => (holder === undefined ? [] : [[shard, holder] as const])));
}

test("a replica with two shards fewer than another one asks for a shard", () => {
  expect(wantsShard(held("a", "a"), "b")).toBe(true);
  expect(wantsShard(held("a", "a", "b"), "b")).toBe(false);
  expect(wantsShard(held("a"), "b")).toBe(false);
  expect(wantsShard(held(), "b")).toBe(false);
});

test("only the replica with the most shards gives one up, and only one of several does", () => {
  const holders = held("a", "a", "b", "b", "c");
  expect(["a", "b", "c", "d"].map((own) => shardToGive(holders, own, "d"))).toStrictEqual([
    1,
    undefined,
    undefined,
    undefined,
  ]);
  expect(shardToGive(held("a", "b"), "a", "c")).toBeUndefined();
  expect(shardToGive(holders, "a", undefined)).toBeUndefined();
});

test("the replica with fewer shards takes a free one first, and a replica that asks comes before all others", () => {
  const holders = held("a", "a", "b", undefined);
  const delay = (own: string, asker?: string): number => takeDelayMs(holders, own, { periodMs: 3_000, asker });
  expect(delay("c")).toBe(0);
  expect(delay("b")).toBeLessThan(delay("a"));
  expect(delay("c", "c")).toBe(0);
  expect(delay("a", "c")).toBe(9_000);
});

test.each([
  [2, 5],
  [3, 4],
  [5, 16],
  [6, 4],
])("%s replicas come to share %s shards evenly, and then nothing moves", (replicas, shards) => {
  const names = Array.from({ length: replicas }, (_, index) => `replica-${index}`);
  const holders = new Map(Array.from({ length: shards }, (_, shard) => [shard, names[0] ?? ""]));
  let moves = 0;
  for (; moves < 100; moves += 1) {
    const asker = names.find((name) => wantsShard(holders, name));
    if (asker === undefined) break;
    const given = names.map((name) => shardToGive(holders, name, asker)).filter((shard) => shard !== undefined);
    expect(given).toHaveLength(1);
    holders.set(given[0] ?? 0, asker);
  }
  const loads = names.map((name) => loadOf(holders, name));
  expect(Math.max(...loads) - Math.min(...loads)).toBeLessThanOrEqual(1);
  expect(moves).toBeLessThan(2 * shards);
});
