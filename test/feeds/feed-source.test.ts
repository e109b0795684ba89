import { expect, test } from "@jest/globals";
import { withFeeds } from "../../src/feeds/feed-source.ts";
import { aFeed, feedContent } from "../support/builders/declare-feed.ts";
import { aRule } from "../support/builders/declare.ts";
import { gathered } from "../support/builders/gathered.ts";

const name = { namespace: "edge", name: "shop" };
const threats = { namespace: "shop", name: "threats" };

test("rules keep the entries, ends and notes of their feeds until something changes in one of them", async () => {
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
    view,
  );
  const listed = async () => {
    const [text] = (await source.gather(name))?.rules[0]?.texts ?? [];
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
