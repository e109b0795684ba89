import { expect, test } from "@jest/globals";
import { array, assert, boolean, nat, property, record } from "fast-check";
import { IndexedHeap } from "../../src/async/indexed-heap.ts";

test("keys leave in order of rank, then of arrival, even after others were moved or removed", () => {
  const step = record({ key: nat(20), rank: nat(10), drop: boolean() });
  assert(
    property(array(step, { maxLength: 80 }), (steps) => {
      const heap = new IndexedHeap<number>();
      const rows = new Map<number, number>();
      for (const { key, rank, drop } of steps) {
        if (drop) {
          expect(heap.delete(key)).toBe(rows.delete(key));
        } else {
          heap.set(key, rank);
          rows.set(key, rank);
        }
      }
      const expected = [...rows].sort((a, b) => a[1] - b[1]).map(([key]) => key);
      const left: (number | undefined)[] = [];
      while (heap.size > 0) left.push(heap.pop());
      expect(left).toStrictEqual(expected);
      expect(heap.pop()).toBeUndefined();
    }),
    { numRuns: 2_000 },
  );
});
