import { describe, expect, test } from "@jest/globals";
import { realClock } from "../../src/async/clock.ts";
import { readFeed } from "../../src/feeds/read-feed.ts";

async function read(value: unknown, path: string) {
  const body = Buffer.from(typeof value === "string" ? value : JSON.stringify(value));
  return await readFeed(body, { type: "Json", path }, { clock: realClock });
}

const google = {
  syncToken: "1",
  prefixes: [
    { ipv4Prefix: "34.1.208.0/20", scope: "africa-south1" },
    { ipv6Prefix: "2600:1900:8000::/44", scope: "africa-south1" },
    { ipv4Prefix: "34.1.208.0/20", scope: "europe" },
  ],
  regions: { eu: [{ "IP range": "192.0.2.0/24" }], us: [{ "IP range": "198.51.100.1" }, null] },
};

describe("A JSON text", () => {
  test.each([
    ["prefixes[*].ipv4Prefix", ["34.1.208.0/20"]],
    ["$.prefixes[*].ipv6Prefix", ["2600:1900:8000::/44"]],
    ["$.regions[*][*].IP range", ["192.0.2.0/24", "198.51.100.1"]],
    ["regions.us[*].IP range", ["198.51.100.1"]],
    ["prefixes.ipv4Prefix", []],
    ["prefixes.0.ipv4Prefix", []],
    ["regions.constructor.name", []],
    ["syncToken[*].missing", []],
  ])("provides the values that %s selects", async (path, entries) => {
    expect(await read(google, path)).toMatchObject({ content: { entries } });
  });

  test("counts values that are not entries, and reports their positions among the selected values", async () => {
    expect(await read({ hooks: ["192.30.252.0/22", 5, null, "x.example", {}, []] }, "$.hooks[*]")).toMatchObject({
      counts: { total: 6, valid: 1, invalid: 5, duplicates: 0 },
      invalidLines: [
        { line: 2, text: "5" },
        { line: 3, text: "null" },
        { line: 4, text: "x.example" },
        { line: 5, text: "{…}" },
        { line: 6, text: "[…]", message: "the path selects a list: append [*] to it" },
      ],
    });
  });

  test.each([
    ["that is not JSON", "<html>", "The response is not JSON."],
    ["that is truncated", '{"a": ["192.0.2.1"', "The response is not JSON."],
    ["that is nested too deeply", "[".repeat(500_001), "The response has more than 500,000 values."],
    ["with too many values", `[${"0,".repeat(500_001)}0]`, "The response has more than 500,000 values."],
  ])("%s is a fault", async (_, text, message) => {
    await expect(read(text, "$[*]")).rejects.toThrow(message);
  });
});
