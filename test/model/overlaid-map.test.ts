import { expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { keysToCompare, layersOf, withChanges } from "../../src/model/overlaid-map.ts";

const baseSize = 400;
const someChanges = fc.uniqueArray(
  fc.tuple(fc.integer({ min: 0, max: baseSize + 60 }), fc.option(fc.integer(), { nil: undefined })),
  { selector: ([key]) => key, maxLength: 40 },
);

function applied(map: ReadonlyMap<number, number>, changes: ReadonlyMap<number, number | undefined>) {
  const copy = new Map(map);
  for (const [key, value] of changes) {
    if (value === undefined) copy.delete(key);
    else copy.set(key, value);
  }
  return copy;
}

test("A map with changes equals a copy with the same changes, and reports which keys may differ", () => {
  const base = new Map(Array.from({ length: baseSize }, (_, key) => [key, key]));
  fc.assert(
    fc.property(fc.array(someChanges, { maxLength: 4 }), (rounds) => {
      let overlaid: ReadonlyMap<number, number> = base;
      let copy: ReadonlyMap<number, number> = base;
      for (const round of rounds) {
        const before = overlaid;
        overlaid = withChanges(overlaid, new Map(round));
        copy = applied(copy, new Map(round));
        expect(overlaid.size).toBe(copy.size);
        expect(new Map(overlaid)).toStrictEqual(copy);
        expect(new Set(overlaid.keys())).toStrictEqual(new Set(copy.keys()));
        expect([...overlaid.values()].length).toBe(copy.size);
        const seen = new Map<number, number>();
        overlaid.forEach((value, key) => seen.set(key, value));
        expect(seen).toStrictEqual(copy);
        const compared = new Set(keysToCompare(before, overlaid));
        for (const [key] of round) if (before.get(key) !== overlaid.get(key)) expect(compared.has(key)).toBe(true);
        for (let key = 0; key <= baseSize + 60; key += 1) {
          expect([overlaid.has(key), overlaid.get(key)]).toStrictEqual([copy.has(key), copy.get(key)]);
        }
      }
    }),
    { numRuns: 60 },
  );
});

test("A map with many changes is a copy, and a few changes never pile up", () => {
  let map: ReadonlyMap<number, number> = new Map(Array.from({ length: baseSize }, (_, key) => [key, key]));
  for (let round = 0; round < baseSize; round += 1) {
    map = withChanges(map, new Map([[round, undefined]]));
    expect(layersOf(map).changes.size).toBeLessThanOrEqual(baseSize / 8);
  }
  expect(map.size).toBe(0);
});
