import { describe, expect, test } from "@jest/globals";
import * as z from "zod";
import {
  hostsMax,
  listAnswer,
  listItemLengthMax,
  listLengthMax,
  originsAnswer,
  parseAnswer,
  writeAnswer,
} from "../../src/waf/wire.ts";

const domain = "shop.example";

function problemOf(schema: z.ZodType, value: unknown): string {
  const parsed = parseAnswer(schema, JSON.stringify(value));
  return parsed.ok ? "none" : parsed.problem;
}

describe("a list", () => {
  test("may be as long as the bound and not longer", () => {
    const items = Array.from({ length: listLengthMax }, () => "1");
    expect(problemOf(listAnswer, items)).toBe("none");
    expect(problemOf(listAnswer, [...items, "1"])).toContain("the answer:");
  });

  test("names the first item that is wrong, without repeating it", () => {
    expect(problemOf(listAnswer, ["1", "x".repeat(listItemLengthMax)])).toBe("none");
    expect(problemOf(listAnswer, ["1", "x".repeat(listItemLengthMax + 1), 7])).toBe(
      "1: is not a string of at most 512 characters",
    );
    expect(problemOf(listAnswer, ["1", null])).toMatch(/^1: /);
  });

  test.each([[{}], [null], ["[]"], [{ success: true, domain, ips: [] }], [0]])("is not %j", (value) => {
    expect(problemOf(listAnswer, value)).toContain("the answer:");
  });
});

describe("other answers", () => {
  test.each([
    [{ success: true, domain }],
    [{ success: true, domain, origin: null }],
    [{ success: true, domain, origin: "" }],
    [{ success: true, domain, origin: [] }],
    [{ success: true, domain, origin: Array.from({ length: hostsMax + 1 }, () => "a.example") }],
    [{ success: "true", domain, origin: "a.example" }],
    [{ success: true, origin: "a.example" }],
  ])("%#: origins need a domain and a host", (value) => {
    expect(problemOf(originsAnswer, value)).not.toBe("none");
  });

  test.each([
    [{ success: true }],
    [{ domain }],
    [{ success: true, domain: "" }],
    [{ success: true, domain, message: 1 }],
    [[]],
  ])("%j accepts no write", (value) => {
    expect(problemOf(writeAnswer, value)).not.toBe("none");
  });

  test("what is not JSON is told apart from an HTML page", () => {
    expect(parseAnswer(listAnswer, " <html>")).toEqual({ ok: false, problem: "it is an HTML page" });
    expect(parseAnswer(listAnswer, "[")).toEqual({ ok: false, problem: "it is not JSON" });
  });
});
