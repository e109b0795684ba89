import { expect, test } from "@jest/globals";
import { withFeeds } from "../../src/feeds/feed-source.ts";
import { aFeed, feedContent } from "../support/builders/declare-feed.ts";
import { aRule } from "../support/builders/declare.ts";
import { gathered } from "../support/builders/gathered.ts";

const name = { namespace: "edge", name: "shop" };
const threats = { namespace: "shop", name: "threats" };

test("the result stays the same object until something changes in a feed that its rules use", async () => {
  const rules = [aRule("shop/threats", { feeds: [threats], texts: [] })];
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
    { view },
  );
  const first = await source.gather(name);
  expect(await source.gather(name)).toBe(first);
  content = feedContent(["192.0.2.8"]);
  const second = await source.gather(name);
  expect(second?.rules[0]?.texts).toMatchObject([{ entries: ["192.0.2.8"] }]);
  expect(await source.gather(name)).toBe(second);
  const [entry] = content.entries;
  content = { ...content, expiresAtMs: new Map([[entry!, 1000]]) };
  expect((await source.gather(name))?.rules[0]?.texts).toMatchObject([{ ending: new Map([[entry!, 1000]]) }]);
});
