import { describe, expect, test } from "@jest/globals";
import { compileJsonPath } from "../../../src/feed/read/json-path.ts";
import { readFeed } from "../../../src/feed/read/read-feed.ts";
import { inChunks } from "../../support/builders/feed-texts.ts";

async function read(value: unknown, path: string) {
  return await readFeed(inChunks(typeof value === "string" ? value : JSON.stringify(value), 11), {
    type: "Json",
    path,
  });
}

const google = {
  syncToken: "1",
  prefixes: [
    { ipv4Prefix: "34.1.208.0/20", scope: "africa-south1" },
    { ipv6Prefix: "2600:1900:8000::/44", scope: "africa-south1" },
    { ipv4Prefix: "34.1.208.0/20", scope: "europe" },
  ],
};

describe("A JSON text", () => {
  test.each([
    ["$.prefixes[*]['ipv4Prefix','ipv6Prefix']", ["34.1.208.0/20", "2600:1900:8000::/44"]],
    ["$..ipv4Prefix", ["34.1.208.0/20"]],
    ["$.prefixes[?@.scope=='europe'].ipv4Prefix", ["34.1.208.0/20"]],
    ["$.prefixes[1:2].ipv6Prefix", ["2600:1900:8000::/44"]],
  ])("provides the values that %s selects", async (path, entries) => {
    expect(await read(google, path)).toMatchObject({ ok: true, reading: { content: { entries } } });
  });

  test("counts values that are not entries, and reports their positions among the selected values", async () => {
    expect(await read({ hooks: ["192.30.252.0/22", 5, null, "x.example", {}] }, "$.hooks[*]")).toMatchObject({
      ok: true,
      reading: {
        counts: { total: 5, valid: 1, invalid: 4, duplicates: 0 },
        invalidLines: [
          { line: 2, text: "5" },
          { line: 3, text: "null" },
          { line: 4, text: "x.example" },
          { line: 5, text: "{…}" },
        ],
      },
    });
  });

  test.each([
    ["that is not JSON", "<html>", "The response is not JSON."],
    ["that is truncated", '{"a": ["192.0.2.1"', "The response is not JSON."],
    ["that is nested too deeply", "[".repeat(40) + "]".repeat(40), "The response is nested more than 32 levels deep."],
    ["with too many values", `[${"0,".repeat(500_001)}0]`, "The response has more than 500,000 values."],
  ])("%s is a fault", async (_, text, message) => {
    expect(await read(text, "$[*]")).toStrictEqual({ ok: false, fault: { code: "NotInFormat", message } });
  });

  test("does not count brackets and commas inside strings", async () => {
    const text = JSON.stringify({ note: `"[[[\\${"[,".repeat(600_000)}`, list: ["192.0.2.1"] });
    expect(await read(text, "$.list[*]")).toMatchObject({ ok: true, reading: { counts: { valid: 1 } } });
  });
});

describe("A JSONPath", () => {
  test.each(["$", "$.a[*].b", "$['a, b']", "$[?@.a=='x(1)'].ip", "$.a[0,1,2]", "$..['a','b']"])(
    "is accepted: %s",
    (path) => {
      expect(compileJsonPath(path)).toMatchObject({ ok: true });
    },
  );

  test.each([
    ["a.b", "is not a JSONPath"],
    ["$.a[", "is not a JSONPath"],
    ["$..a..b", "more than once"],
    ["$[?@.a==$.b]", "uses $ in a filter"],
    ["$[?match(@.a,'(a+)+$')]", "a function"],
    ["$[*,*][*,*]", "more than one list"],
    ["$[?@['a','b']]['c','d']", "more than one list"],
    [`$[${"*,".repeat(20)}*]`, "more than 16"],
    [`$.${"a".repeat(256)}`, "256 characters"],
  ])("is refused if it is invalid, or if its cost could grow faster than the text: %s", (path, problem) => {
    expect(compileJsonPath(path)).toStrictEqual({ ok: false, problem: expect.stringContaining(problem) });
  });

  test("that is too complex for a large text is a fault, not a crash", async () => {
    const wide = { a: Array.from({ length: 200_000 }, () => ({ b: 1 })) };
    const result = await read(wide, "$..[?@.*.*.*]");
    expect(result.ok ? result.reading.counts.valid : result.fault.code).toStrictEqual(result.ok ? 0 : "NotInFormat");
  });
});
