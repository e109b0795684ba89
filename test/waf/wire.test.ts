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
  test("may be as long as the limit and no longer", () => {
    const items = Array.from({ length: listLengthMax }, () => "1");
    expect(problemOf(listAnswer, items)).toBe("none");
    expect(problemOf(listAnswer, [...items, "1"])).toContain("the body:");
  });

  test("is rejected with the position of the first invalid item, without its content", () => {
    expect(problemOf(listAnswer, ["1", "x".repeat(listItemLengthMax)])).toBe("none");
    expect(problemOf(listAnswer, ["1", "x".repeat(listItemLengthMax + 1), 7])).toBe(
      "1: is not a string of at most 512 characters",
    );
    expect(problemOf(listAnswer, ["1", null])).toMatch(/^1: /);
  });

  test.each(["1.2.3.4\u001b[2J", "\u009b31m", "1\n+ 2", "1\u202e2", "1\u200b", "\ud800"])(
    "must not contain %j",
    (item) => {
      expect(problemOf(listAnswer, ["1", item])).toBe("1: contains an invisible character");
    },
  );

  test.each([" 192.0.2.1\t", "\n192.0.2.1", "münchen", ""])(
    "may contain %j, which is not an address, or a spelling of one",
    (item) => {
      expect(problemOf(listAnswer, ["1", item])).toBe("none");
    },
  );

  test.each([[{}], [null], ["[]"], [{ success: true, domain, ips: [] }], [0]])("is not %j", (value) => {
    expect(problemOf(listAnswer, value)).toContain("the body:");
  });
});

describe("other responses", () => {
  test.each([
    [{ success: true, domain }],
    [{ success: true, domain, origin: null }],
    [{ success: true, domain, origin: "" }],
    [{ success: true, domain, origin: [] }],
    [{ success: true, domain, origin: Array.from({ length: hostsMax + 1 }, () => "a.example") }],
    [{ success: "true", domain, origin: "a.example" }],
    [{ success: true, origin: "a.example" }],
  ])("%#: origins require a domain and a host", (value) => {
    expect(problemOf(originsAnswer, value)).not.toBe("none");
  });

  test.each([
    ["a terminal's escape", "shop\u001b[2Jexample"],
    ["a one-character escape sequence", "shop\u009b31mexample"],
    ["a line break", "shop.example\n::stop-commands::x"],
    ["a change of the writing direction", "shop\u202eelpmaxe"],
    ["an invisible mark", "shop\u200e.example"],
    ["a space", "shop example"],
    ["HTML", "<b>shop.example</b>"],
    ["more than 253 characters", `${"a".repeat(246)}.example`],
  ])("%s is neither a domain nor a host", (_, text) => {
    for (const schema of [originsAnswer, writeAnswer]) {
      expect(problemOf(schema, { success: true, domain: text, origin: "a.example" })).toMatch(/^domain: /);
    }
    expect(problemOf(originsAnswer, { success: true, domain, origin: text })).toMatch(/^origin: /);
    expect(problemOf(originsAnswer, { success: true, domain, origin: [text] })).toMatch(/^origin/);
  });

  test.each([
    "shop.example",
    "müller.example",
    "例え.テスト",
    "*.shop.example",
    "a_b.example:8443",
    "[2001:db8::1]:443",
    "192.0.2.1",
  ])("%s is a domain and a host", (text) => {
    expect(problemOf(originsAnswer, { success: true, domain: text, origin: text })).toBe("none");
  });

  test.each([
    [{ success: true }],
    [{ domain }],
    [{ success: true, domain: "" }],
    [{ success: true, domain, message: 1 }],
    [[]],
  ])("%j is not a successful write", (value) => {
    expect(problemOf(writeAnswer, value)).not.toBe("none");
  });

  test("an HTML page is distinguished from other invalid JSON", () => {
    expect(parseAnswer(listAnswer, " <html>")).toStrictEqual({ ok: false, problem: "it is an HTML page" });
    expect(parseAnswer(listAnswer, "[")).toStrictEqual({ ok: false, problem: "it is not JSON" });
  });
});
