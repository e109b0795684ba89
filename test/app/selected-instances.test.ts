// Which instances an operator with a selector may work on, and when an instance changes hands.
import { describe, expect, test } from "@jest/globals";
import { handOverMs, SelectedInstances, parseSelector } from "../../src/app/selected-instances.ts";
import { createVirtualClock } from "../support/fakes/virtual-clock.ts";

const shop = { namespace: "edge", name: "shop" };

function operator(selector?: string) {
  const clock = createVirtualClock();
  const labels = new Map<string, Readonly<Record<string, string>>>([["shop", { tier: "a" }]]);
  const parsed = selector === undefined ? undefined : parseSelector(selector);
  if (parsed !== undefined && "unreadable" in parsed) throw new Error(parsed.unreadable);
  const selected = new SelectedInstances(clock, parsed, ({ name }) => labels.get(name));
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
