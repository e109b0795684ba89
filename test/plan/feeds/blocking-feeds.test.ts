import { describe, expect, test } from "@jest/globals";
import { blockingFeeds } from "../../../src/plan/feeds/blocking-feeds.ts";
import { aFeed, feedContent } from "../../support/builders/declare-feed.ts";
import { anInstance, aRule } from "../../support/builders/declare.ts";
import { gathered } from "../../support/builders/gathered.ts";

const name = { namespace: "shop", name: "threats" };
const content = feedContent(["192.0.2.1"]);

describe("A feed blocks requests on a WAF", () => {
  const view = (feed: { readonly name: string }) => (feed.name === "threats" ? { feed: aFeed(), content } : undefined);

  test("if a Block rule of its instance has its entries", () => {
    const other = { namespace: "shop", name: "missing" };
    const rules = [aRule("shop/one", { feeds: [name, other] }), aRule("shop/two", { feeds: [name] })];
    expect(blockingFeeds(gathered({ rules }), view)).toStrictEqual([name]);
  });

  test.each([
    ["an Allow rule", { rules: [aRule("shop/one", { action: "Allow", feeds: [name] })] }],
    ["a rule of a namespace that it does not allow", { rules: [aRule("blog/one", { feeds: [name] })] }],
    [
      "a rule of an instance that writes nothing",
      { rules: [aRule("shop/one", { feeds: [name] })], instance: anInstance({ suspend: true }) },
    ],
  ])("not for %s", (_, situation) => {
    expect(blockingFeeds(gathered(situation), view)).toStrictEqual([]);
  });
});
