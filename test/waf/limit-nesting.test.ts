import { describe, expect, test } from "@jest/globals";
import { cutMark, limitNesting } from "../../src/waf/limit-nesting.ts";

function nested(levels: number): unknown {
  return JSON.parse(`${'{"a":['.repeat(levels)}1${"]}".repeat(levels)}`);
}

describe("An external value", () => {
  test("stays the same object if it is not nested too deeply", () => {
    const value = { a: [1, { b: null }], c: "text" };
    expect(limitNesting(value, 3)).toBe(value);
  });

  test("loses only the parts that are nested too deeply", () => {
    const value = { a: [1, { b: [2] }], c: "text" };
    expect(limitNesting(value, 3)).toStrictEqual({ a: [1, { b: cutMark }], c: "text" });
    expect(limitNesting(value, 1)).toStrictEqual({ a: cutMark, c: "text" });
  });

  test("with more levels than the stack allows can be written as JSON afterwards", () => {
    const value = nested(100_000);
    expect(() => JSON.stringify(value)).toThrow(RangeError);
    expect(JSON.stringify(limitNesting(value, 20))).toContain(cutMark);
  });

  test("keeps a field named __proto__", () => {
    const value = JSON.parse(`{"__proto__":{"a":{"b":1}}}`) as unknown;
    expect(JSON.stringify(limitNesting(value, 2))).toBe(`{"__proto__":{"a":"${cutMark}"}}`);
  });
});
