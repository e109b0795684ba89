// Selectors in the notation of kubectl, evaluated as Kubernetes does.
import { describe, expect, test } from "@jest/globals";
import { parseSelector } from "../../src/app/selected-instances.ts";
import { matchesSelector } from "../../src/model/attachment.ts";

function matches(text: string, labels: Readonly<Record<string, string>>): boolean {
  const selector = parseSelector(text);
  if ("unreadable" in selector) throw new Error(`${text}: ${selector.unreadable}`);
  return matchesSelector(selector, labels);
}

describe("A label selector", () => {
  test.each([
    ["tier=edge", { tier: "edge" }, { tier: "core" }],
    ["tier==edge", { tier: "edge" }, {}],
    ["tier!=edge", {}, { tier: "edge" }],
    ["tier=", { tier: "" }, { tier: "edge" }],
    ["example.com/tier", { "example.com/tier": "" }, { tier: "" }],
    ["!legacy", {}, { legacy: "true" }],
    ["tier in (edge, core)", { tier: "core" }, {}],
    ["tier notin (edge,core)", {}, { tier: "edge" }],
    ["tier in (edge,core), !legacy ,team=a", { tier: "edge", team: "a" }, { tier: "edge", team: "a", legacy: "" }],
  ])("%s matches %o, but not %o", (text, like, unlike) => {
    expect(matches(text, like)).toBe(true);
    expect(matches(text, unlike)).toBe(false);
  });

  test.each(["", "tier in a", "tier in (a", "a b", "a=b=c", "tier=edge,", "=x", "-a", "a>1"])(
    "%j is not one",
    (text) => {
      expect(parseSelector(text)).toHaveProperty("unreadable");
    },
  );
});
