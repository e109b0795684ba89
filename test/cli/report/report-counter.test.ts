import { describe, expect, test } from "@jest/globals";
import { array, assert, integer, property } from "fast-check";
import { FrequentCounter } from "../../../src/cli/report/report-counter.ts";

interface Last {
  place: number;
}

function counted(keptMax: number, keys: readonly string[]): FrequentCounter<Last> {
  const counter = new FrequentCounter<Last>(keptMax);
  for (const [place, key] of keys.entries()) counter.add(key, () => ({ place })).place = place;
  return counter;
}

function trueCounts(keys: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

describe("a counter of frequent strings", () => {
  test("is exact while there are few strings, with one note for each", () => {
    const counter = counted(2, ["b", "a", "c", "a", "d", "b", "a"]);
    expect(counter.ranked()).toStrictEqual([
      { key: "a", count: 3, note: { place: 6 } },
      { key: "b", count: 2, note: { place: 5 } },
      { key: "c", count: 1, note: { place: 2 } },
      { key: "d", count: 1, note: { place: 4 } },
    ]);
    expect([counter.shortMax, counter.distinctMin]).toStrictEqual([0, 4]);
  });

  test("never counts too much, nor too little by more than its known error, in any order", () => {
    const keys = array(
      integer({ min: 0, max: 60 }).map((number) => `key ${Math.floor(number ** 1.5)}`),
      {
        maxLength: 2000,
        size: "max",
      },
    );
    assert(
      property(integer({ min: 1, max: 12 }), keys, (keptMax, keys) => {
        const counter = counted(keptMax, keys);
        const ranked = new Map(counter.ranked().map(({ key, count }) => [key, count]));
        expect(ranked.size).toBeLessThanOrEqual(2 * keptMax);
        expect(counter.shortMax).toBeLessThanOrEqual(keys.length / (keptMax + 1));
        const truth = trueCounts(keys);
        expect(counter.distinctMin).toBeLessThanOrEqual(truth.size);
        for (const [key, count] of truth) {
          const shown = ranked.get(key) ?? 0;
          expect(shown).toBeLessThanOrEqual(count);
          expect(shown).toBeGreaterThanOrEqual(count - counter.shortMax);
        }
      }),
      { numRuns: 200 },
    );
  });

  test("keeps frequent strings among a flood of strings that occur once", () => {
    const counter = new FrequentCounter<undefined>(100);
    for (let row = 0; row < 100_000; row += 1) {
      counter.add(`flood ${row}`, () => undefined);
      if (row % 10 === 0) counter.add("steady", () => undefined);
    }
    expect(counter.ranked()[0]?.key).toBe("steady");
    expect(counter.ranked().length).toBeLessThanOrEqual(200);
    expect(10_000 - (counter.ranked()[0]?.count ?? 0)).toBeLessThanOrEqual(counter.shortMax);
  });
});
