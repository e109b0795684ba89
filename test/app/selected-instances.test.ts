// Which instances an operator with a selector may work on, and when an instance changes hands. Selectors have the notation of kubectl, and
// match as in Kubernetes.
import { describe, expect, test } from "@jest/globals";
import { handOverMs, SelectedInstances, parseSelector } from "../../src/app/selected-instances.ts";
import { matchesSelector } from "../../src/model/gathered.ts";
import type { LabelSelector } from "../../src/model/declared.ts";
import { createVirtualClock } from "../support/fakes/virtual-clock.ts";

const shop = { namespace: "edge", name: "shop" };

function selectorOf(text: string): LabelSelector {
  const selector = parseSelector(text);
  if ("unreadable" in selector) throw new Error(`${text}: ${selector.unreadable}`);
  return selector;
}

function operator(selector?: string) {
  const clock = createVirtualClock();
  const labels = new Map<string, Readonly<Record<string, string>>>([["shop", { tier: "a" }]]);
  const selected = new SelectedInstances(clock, selector === undefined ? undefined : selectorOf(selector), ({ name }) =>
    labels.get(name),
  );
  const label = (tier: string | undefined) => {
    if (tier === undefined) labels.delete("shop");
    else labels.set("shop", { tier });
    return selected.note(shop);
  };
  return { clock, selected, label };
}

describe("The instances of an operator", () => {
  test("without a selector are all", () => {
    const { selected, label } = operator();
    expect([label("a"), label("b"), selected.has(shop)]).toStrictEqual(["Unchanged", "Unchanged", true]);
  });

  test("with a selector are those whose labels match, from the start", () => {
    const { selected, label } = operator("tier=a");
    expect([label("a"), selected.has(shop)]).toStrictEqual(["Unchanged", true]);
    expect(operator("tier=b").selected.has(shop)).toBe(false);
  });

  test("lose one at once when its labels change", () => {
    const { selected, label } = operator("tier=a");
    label("a");
    expect([label("b"), selected.has(shop)]).toStrictEqual(["Left", false]);
  });

  test("gain one when the calls of its former operator have ended", async () => {
    const { clock, selected, label } = operator("tier=a");
    label("b");
    expect([label("a"), selected.has(shop)]).toStrictEqual(["Joined", false]);
    await clock.advance(handOverMs - 1);
    expect(selected.has(shop)).toBe(false);
    await clock.advance(1);
    expect(selected.has(shop)).toBe(true);
  });

  test("gain one again that they lost and forgot, and wait again", async () => {
    const { clock, selected, label } = operator("tier=a");
    label("a");
    label("b");
    selected.forget(shop);
    expect([label("a"), selected.has(shop)]).toStrictEqual(["Joined", false]);
    await clock.advance(handOverMs);
    expect(selected.has(shop)).toBe(true);
  });

  test("contain a deleted one until it is forgotten, so that its entries can be released", () => {
    const { selected, label } = operator("tier=a");
    label("a");
    expect([label(undefined), selected.has(shop)]).toStrictEqual(["Unchanged", true]);
    selected.forget(shop);
    expect(selected.has(shop)).toBe(false);
  });
});

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
    expect([like, unlike].map((labels) => matchesSelector(selectorOf(text), labels))).toStrictEqual([true, false]);
  });

  test.each(["", "tier in a", "tier in (a", "a b", "a=b=c", "tier=edge,", "=x", "-a", "a>1"])(
    "%j is not one",
    (text) => {
      expect(parseSelector(text)).toHaveProperty("unreadable");
    },
  );
});
