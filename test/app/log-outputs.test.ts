import { expect, test } from "@jest/globals";
import { logLines } from "../../src/app/log-outputs.ts";
import { anEntry } from "../support/worlds/forward-world.ts";

const origin = { instance: { namespace: "edge", name: "shop" }, domain: "shop.example" };

test("a line begins with where the entry comes from, and holds all of it, further fields too", () => {
  const entry = { ...anEntry(), rule_set: "crs" };
  expect(logLines(origin, [entry, entry])).toBe(
    `${JSON.stringify({ waf_instance: "edge/shop", domain: "shop.example", ...entry })}\n`.repeat(2),
  );
});

test("no text of an entry can pretend another origin, begin a line or command a terminal", () => {
  const request_path = "/a\nb\u2028c\u009b31md\u001b[2J\u007f";
  const entry = { ...anEntry({ request_path }), waf_instance: "other/waf", domain: "elsewhere.example" };
  const lines = logLines(origin, [entry]);
  expect(lines.split("\n")).toHaveLength(2);
  // oxlint-disable-next-line no-control-regex -- these are what must not be there
  expect(lines.slice(0, -1)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/);
  expect(JSON.parse(lines)).toEqual({ ...entry, waf_instance: "edge/shop", domain: "shop.example" });
});
