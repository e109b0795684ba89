import { expect, test } from "@jest/globals";
import { sameJson, statusPatch } from "../../src/kube/status-writer.ts";

test("values are the same whatever the order of keys, but not of lists", () => {
  expect(sameJson({ a: 1, b: { c: [1, { d: 2 }] } }, { b: { c: [1, { d: 2 }] }, a: 1 })).toBe(true);
  expect(sameJson({ a: 1, b: undefined }, { a: 1 })).toBe(true);
  expect(sameJson([1, 2], [2, 1])).toBe(false);
  expect(sameJson({ a: null }, {})).toBe(false);
  expect(sameJson([], {})).toBe(false);
  expect(sameJson("1", 1)).toBe(false);
});

test("a patch contains all desired fields, and null for the fields to remove", () => {
  expect(
    statusPatch({ a: 1, old: 1, deep: { keep: 1, old: 2 } }, { a: 1, deep: { keep: 2 }, list: [{ x: 1 }] }),
  ).toStrictEqual({
    a: 1,
    old: null,
    deep: { keep: 2, old: null },
    list: [{ x: 1 }],
  });
  expect(statusPatch(undefined, { a: undefined, b: 1 })).toStrictEqual({ b: 1 });
});
