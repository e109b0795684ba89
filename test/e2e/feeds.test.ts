// A list on the web through its whole life, from the first fetch to its disappearance, with the program as users run it.
import { gzipSync } from "node:zlib";
import { readFile, readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { expect, test } from "@jest/globals";
import { FeedServer } from "../support/fakes/feed-server.ts";
import { runWafsync } from "../support/processes/wafsync-process.ts";
import { ruleDocument, testKey, type WafFolder, wafFolder } from "../support/worlds/waf-folder.ts";
import { someAddresses } from "../support/builders/declare-feed.ts";

interface FeedFields {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: string;
  readonly name?: string;
}

function feedDocument(url: string, { annotations = {}, spec = "", name = "threats" }: FeedFields = {}): string {
  return `---
apiVersion: wafsync.dev/v1alpha1
kind: WafFeed
metadata: {name: ${name}, namespace: shop, annotations: ${JSON.stringify(annotations)}}
spec:
  http: {url: ${JSON.stringify(url)}${spec}}
`;
}

function feedRule(name: string, feeds: readonly string[]): string {
  const refs = feeds.map((feed) => `{feedRef: {name: ${feed}}}`).join(", ");
  return ruleDocument(name, { spec: `  addressesFrom: [${refs}]\n` });
}

/** Guards of the instance that never object, so that only those of the feed are tested. */
const noGuards = "  guards: {maxRemovals: 100000, maxRemovalPercent: 100}\n";

class FeedWorld {
  readonly folder: WafFolder;
  readonly server: FeedServer;
  /** Known even after the server has stopped. */
  readonly url: string;
  #asked = 0;

  constructor(folder: WafFolder, server: FeedServer) {
    this.folder = folder;
    this.server = server;
    this.url = server.url();
  }

  get blocked(): readonly string[] {
    return this.folder.simulator.waf(testKey).blocklist.toSorted();
  }

  /** Fetches now, and brings the WAF to what came of it. */
  async apply(annotations: Readonly<Record<string, string>> = {}) {
    this.#asked += 1;
    const asked = { "wafsync.dev/requested-at": String(this.#asked), ...annotations };
    await this.folder.files.write("feed.yaml", feedDocument(this.url, { annotations: asked }));
    return await runWafsync(["apply", ...this.folder.from, "--allow-private-feeds"]);
  }

  async status(): Promise<string> {
    return await readFile(join(this.folder.files.path, ".wafsync/status/WafFeed/shop/threats.yaml"), "utf8");
  }
}

test("a list on the web: fetched, unchanged, changed, on hold, accepted, broken in every way, and deleted", async () => {
  await using folder = await wafFolder({}, noGuards);
  const server = await FeedServer.start();
  const world = new FeedWorld(folder, server);
  await folder.files.write("rule.yaml", feedRule("feed", ["threats"]));
  const list = someAddresses(100);
  const text = (addresses: readonly string[]): string => `# A list\n${addresses.join("\n")}\n`;

  server.serves(text(list), { etag: '"v1"' });
  expect((await world.apply()).code).toBe(0);
  expect(world.blocked).toEqual(list.toSorted());

  server.answers(({ headers }, response) => response.writeHead(headers["if-none-match"] === '"v1"' ? 304 : 500).end());
  expect((await world.apply()).code).toBe(0);
  expect(await world.status()).toMatch(/reason: Fetched/);

  const changed = [...list.slice(1), "192.0.9.9"];
  server.serves(gzipSync(text(changed)));
  expect((await world.apply()).code).toBe(0);
  expect(world.blocked).toEqual(changed.toSorted());

  const shrunk = changed.slice(0, 40);
  server.serves(text(shrunk));
  const held = await world.apply();
  expect(held.stderr).toContain("WafFeed shop/threats: The feed shrank from 100 to 40 entries");
  expect(world.blocked).toEqual(changed.toSorted());
  const hash = /wafsync\.dev\/accept-feed: "(?<hash>[0-9a-f]+)"/.exec(held.stderr)?.groups?.["hash"] ?? "";
  expect(await world.status()).toContain(`hash: ${hash}`);
  expect((await world.apply({ "wafsync.dev/accept-feed": hash })).code).toBe(0);
  expect(world.blocked).toEqual(shrunk.toSorted());

  const broken: readonly [string, string, () => void][] = [
    ["emptied", "empty response", () => server.serves("")],
    ["only comments", "has 0 entries", () => server.serves("# Nothing today\n")],
    [
      "a challenge page",
      "a page (HTML or XML)",
      () => server.serves("<!DOCTYPE html><title>Just a moment...</title>", { "content-type": "text/html" }),
    ],
    ["cut in half", "shrank from 40 to 20", () => server.serves(text(shrunk.slice(0, 20)))],
    [
      "cut off",
      "is incomplete",
      () =>
        server.answers((_, response) => {
          response.writeHead(200, { "content-length": "100000" });
          response.write(text(shrunk), () => response.destroy());
        }),
    ],
    ["not found", "responded with status 404", () => server.fails(404)],
    [
      "redirected to a page",
      "a page (HTML or XML)",
      () =>
        server.answers(({ url }, response) => {
          if (url === "/list") response.writeHead(302, { location: "/login" }).end();
          else response.writeHead(200, { "content-type": "text/html" }).end("<html>Log in</html>");
        }),
    ],
  ];
  for (const [, message, breakIt] of broken) {
    breakIt();
    const applied = await world.apply();
    expect(applied.stderr).toContain(message);
    expect(applied.stderr).toContain("Rules continue to use the last good content: 40 entries.");
    expect(world.blocked).toEqual(shrunk.toSorted());
  }

  await server.stop();
  for (const gone of [await world.apply(), await runWafsync(["apply", ...folder.from, "--allow-private-feeds"])]) {
    expect(gone.stderr).toContain("Cannot connect to");
  }
  expect(world.blocked).toEqual(shrunk.toSorted());
});

test("two feeds on one list: while one fails, what the other no longer lists is removed", async () => {
  await using folder = await wafFolder({}, noGuards);
  const [one, other] = [await FeedServer.start(), await FeedServer.start()];
  await folder.files.write("rule.yaml", feedRule("feed", ["one", "other"]));
  const declare = async (round: string): Promise<void> => {
    const annotations = { "wafsync.dev/requested-at": round };
    await folder.files.write("one.yaml", feedDocument(one.url(), { name: "one", annotations }));
    await folder.files.write("other.yaml", feedDocument(other.url(), { name: "other", annotations }));
  };
  one.serves("192.0.2.1\n192.0.2.2\n");
  other.serves("192.0.2.2\n192.0.2.3\n192.0.2.4\n");
  await declare("1");
  const apply = ["apply", ...folder.from, "--allow-private-feeds"];
  expect((await runWafsync(apply)).code).toBe(0);
  one.fails(500);
  other.serves("192.0.2.2\n192.0.2.3\n");
  await declare("2");
  await runWafsync(apply);
  expect(folder.simulator.waf(testKey).blocklist.toSorted()).toEqual(["192.0.2.1", "192.0.2.2", "192.0.2.3"]);
  await Promise.all([one.stop(), other.stop()]);
});

test("a feed with networks that must not be blocked: they are rejected one by one, and the rest is applied", async () => {
  await using folder = await wafFolder({}, "  guards: {neverBlock: [198.51.100.7]}\n");
  const server = await FeedServer.start();
  const world = new FeedWorld(folder, server);
  await folder.files.write("rule.yaml", feedRule("feed", ["threats"]));
  const good = someAddresses(50);
  server.serves([...good, "10.0.0.0/8", "127.0.0.1", "1.2.3.4/0/8", "198.51.100.7"].join("\n"));
  const applied = await world.apply();
  expect(world.blocked).toEqual(good.toSorted());
  expect(applied.stdout).toContain("GuardRejected");
  const status = await world.status();
  expect(status).toMatch(/total: 54\s+valid: 53\s+invalid: 1\s+duplicates: 0\s+specialPurpose: 2\s+used: 53/);
  expect(status).toContain("text: 1.2.3.4/0/8");
  await server.stop();
});

test("a feed with private networks: counted and left out, and the rule is in order", async () => {
  await using folder = await wafFolder();
  const server = await FeedServer.start();
  const world = new FeedWorld(folder, server);
  await folder.files.write("rule.yaml", feedRule("feed", ["threats"]));
  server.serves(["192.0.2.1", "10.0.0.0/8", "127.0.0.1", "224.0.0.0/3"].join("\n"));
  const applied = await world.apply();
  expect(applied.code).toBe(0);
  expect(applied.stdout).not.toContain("GuardRejected");
  expect(world.blocked).toEqual(["192.0.2.1"]);
  expect(await world.status()).toContain("specialPurpose: 3");
  await server.stop();
});

test("a plan fetches feeds and stores nothing; without the flag, inner addresses are refused", async () => {
  await using folder = await wafFolder();
  const server = await FeedServer.start();
  server.serves("192.0.2.1\n");
  await folder.files.write("feed.yaml", feedDocument(server.url()));
  await folder.files.write("rule.yaml", feedRule("feed", ["threats"]));
  const refused = await runWafsync(["plan", ...folder.from]);
  expect(refused.stderr).toContain("not on the public Internet");
  expect(server.requests).toEqual([]);
  const planned = await runWafsync(["plan", ...folder.from, "--allow-private-feeds"]);
  expect(planned.stdout).toContain("192.0.2.1");
  expect(planned.code).toBe(1);
  expect(await folder.everyFile()).not.toContain("confirmedAtMs");
  await server.stop();
});

test("the stored content of a feed is deleted with the feed, and kept while a file can't be read", async () => {
  await using folder = await wafFolder({}, noGuards);
  const server = await FeedServer.start();
  server.serves("192.0.2.1\n");
  const apply = async () => await runWafsync(["apply", ...folder.from, "--allow-private-feeds"]);
  const remembered = async (): Promise<readonly string[]> => {
    const below = await readdir(join(folder.files.path, ".wafsync/feeds"), { recursive: true, withFileTypes: true });
    return [...new Set(below.flatMap((entry) => (entry.isFile() ? basename(entry.parentPath) : [])))].sort();
  };
  await folder.files.write("goes.yaml", feedDocument(server.url(), { name: "goes" }));
  await folder.files.write("stays.yaml", feedDocument(server.url(), { name: "stays" }));
  expect((await apply()).code).toBe(0);
  expect(await remembered()).toEqual(["goes", "stays"]);
  await folder.files.write("goes.yaml", "kind: [\n");
  await apply();
  expect(await remembered()).toEqual(["goes", "stays"]);
  await folder.files.write("goes.yaml", "");
  expect((await apply()).code).toBe(0);
  expect(await remembered()).toEqual(["stays"]);
  await server.stop();
});

test("a header from a Secret reaches the server, and no output or file", async () => {
  await using folder = await wafFolder();
  const server = await FeedServer.start();
  server.fails(403);
  const secret =
    'apiVersion: v1\nkind: Secret\nmetadata: {name: token, namespace: shop}\nstringData: {value: "Bearer t0ken-of-feeds"}\n';
  await folder.files.write("secret.yaml", `${await readFile(join(folder.path, "secret.yaml"), "utf8")}---\n${secret}`);
  const header = ", headersFrom: [{name: Authorization, secretKeyRef: {name: token, key: value}}]";
  await folder.files.write("feed.yaml", feedDocument(`${server.url()}?key=query-t0ken`, { spec: header }));
  await folder.files.write("rule.yaml", feedRule("feed", ["threats"]));
  const applied = await runWafsync(["apply", ...folder.from, "--allow-private-feeds"]);
  expect(server.requests[0]?.headers.authorization).toBe("Bearer t0ken-of-feeds");
  expect(applied.stderr).toContain("responded with status 403");
  const state = (await folder.everyFile()).replaceAll(/http: \{url:.*\n/g, "");
  expect(`${applied.stdout}${applied.stderr}${state}`).not.toMatch(/t0ken/);
  await server.stop();
});
