import { describe, expect, test } from "@jest/globals";
import { feedTextFor, withFeeds } from "../../src/feeds/feed-source.ts";
import type { DeclaredFeed, FeedUser } from "../../src/model/declared.ts";
import { aFeed, feedContent } from "../support/builders/declare-feed.ts";
import { aRule, feedSource } from "../support/builders/declare.ts";
import { desiredOf, gathered } from "../support/builders/gathered.ts";

const name = { namespace: "shop", name: "threats" };
const content = feedContent(["192.0.2.1"]);
const listed = { state: "Listed", source: feedSource("shop/threats"), entries: content.entries };

function textFor(user: FeedUser, feed: Partial<DeclaredFeed> = {}) {
  return feedTextFor(name, { feed: aFeed(feed), content }, user);
}

function selecting(team: string): Partial<DeclaredFeed> {
  return { allowedNamespaces: { from: "Selector", selector: { matchLabels: { team }, matchExpressions: [] } } };
}

describe("A rule gets the entries of a feed", () => {
  test("of its own namespace, always as the same list", () => {
    const own = { namespace: "shop", labels: undefined };
    expect(textFor(own)).toStrictEqual(listed);
    expect(textFor(own)).toHaveProperty("entries", content.entries);
  });

  test("of another namespace if the feed allows it", () => {
    const user = { namespace: "blog", labels: { team: "web" } };
    expect(textFor(user, { allowedNamespaces: { from: "All", selector: undefined } })).toStrictEqual(listed);
    expect(textFor(user, selecting("web"))).toStrictEqual(listed);
  });

  test("not otherwise, and with the same message whether or not the feed exists", () => {
    const problem =
      "WafFeed shop/threats does not exist, or does not allow rules of namespace blog in its spec.allowedNamespaces.";
    const refused = { state: "Missing", source: feedSource("shop/threats"), problem };
    const user = { namespace: "blog", labels: { team: "web" } };
    expect(textFor(user)).toStrictEqual(refused);
    expect(textFor(user, selecting("shop"))).toStrictEqual(refused);
    expect(textFor({ namespace: "blog", labels: undefined }, selecting("web"))).toStrictEqual(refused);
    expect(feedTextFor(name, undefined, user)).toStrictEqual(refused);
  });
});

test("A rule declares the entries of its feeds and its own, and names the feed as their source", () => {
  const rule = aRule("feed", {
    addresses: ["198.51.100.1"],
    feeds: [name],
    texts: [textFor({ namespace: "shop", labels: undefined })],
  });
  const [compiled] = desiredOf({ rules: [rule] }).rules;
  expect([...(compiled?.entries ?? [])]).toStrictEqual(["198.51.100.1", "192.0.2.1"]);
});

test("Rules keep the entries, ends and notes of their feeds until something changes in one of them", async () => {
  const rules = [aRule("shop/threats", { feeds: [name], texts: [] })];
  const declared = gathered({ rules });
  let content = feedContent(["192.0.2.7"]);
  const view = ({ name: asked }: { readonly name: string }) => {
    if (asked !== "threats") throw new Error("No rule uses this feed.");
    return { feed: aFeed(), content };
  };
  const source = withFeeds(
    {
      gather: async () => declared,
      confirm: async () => ({ state: "Read", gathered: declared }),
      version: () => 1,
    },
    view,
  );
  const listed = async () => {
    const [text] = (await source.gather({ namespace: "edge", name: "shop" }))?.rules[0]?.texts ?? [];
    return text?.state === "Listed" ? text : undefined;
  };
  expect((await listed())?.entries).toBe(content.entries);
  content = feedContent(["192.0.2.8"]);
  expect((await listed())?.entries).toStrictEqual(["192.0.2.8"]);
  const [entry] = content.entries;
  const expiresAtMs = new Map([[entry!, 1000]]);
  content = { ...content, expiresAtMs };
  expect((await listed())?.ending).toBe(expiresAtMs);
});
