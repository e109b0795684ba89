// The whole life cycle of a list on the web, from the first fetch to its deletion, with the program as users run it.
// Long: `npm run test:deploy` runs it.
import { gzipSync } from "node:zlib";
import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { expect, test } from "@jest/globals";
import type { Condition } from "../../src/kinds/conditions.ts";
import { publicBlocklist } from "../support/builders/public-blocklist.ts";
import { readSharedList } from "../support/builders/shared-lists.ts";
import { ScriptedServer } from "../support/fakes/scripted-server.ts";
import { runWafsync } from "../support/processes/wafsync-process.ts";
import { originDocument, ruleDocument, testKey, type WafFolder, wafFolder } from "../support/worlds/waf-folder.ts";
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

interface FeedStatus extends Readonly<Record<string, unknown>> {
  readonly conditions: readonly Condition[];
}

function conditionOf({ conditions }: FeedStatus, type: string): Condition | undefined {
  return conditions.find((one) => one.type === type);
}

/** IPsum's list of level 5, or one like it. */
async function ipsum(): Promise<readonly string[]> {
  const text = await readSharedList("ipsum-level-5.txt");
  return text === undefined ? publicBlocklist() : text.toString().trim().split("\n");
}

function countOf(addresses: readonly string[]): string {
  return addresses.length.toLocaleString("en-US");
}

/** Expects this list on the WAF, and no errors. */
function applied(what: string, list: readonly string[]): object {
  return {
    what,
    code: 0,
    stderr: expect.not.stringContaining("WafFeed"),
    blocked: list.toSorted(),
    fetched: expect.objectContaining({ status: "True", reason: "Fetched" }),
    ready: expect.objectContaining({ status: "True" }),
    entries: expect.objectContaining({ valid: list.length, used: list.length }),
  };
}

/** Expects that this list stays on the WAF, and that the status says why. */
function kept(what: string, list: readonly string[], reason: string, message: string): object {
  const stays = `Rules continue to use the last good content: ${countOf(list)} entries.`;
  return {
    what,
    code: expect.anything(),
    stderr: expect.stringContaining(stays),
    blocked: list.toSorted(),
    fetched: expect.objectContaining({ status: "False", reason, message: expect.stringContaining(message) }),
    ready: expect.objectContaining({ status: "False", reason }),
    entries: expect.objectContaining({ used: list.length }),
  };
}

const minuteMs = 60_000;

/** Guards of the instance that allow everything, so that only the guards of the feed are tested. */
const noGuards = "  guards: {maxRemovals: 100000, maxRemovalPercent: 100}\n";

class FeedWorld {
  readonly folder: WafFolder;
  readonly server: ScriptedServer;
  /** Remains known after the server has stopped. */
  readonly url: string;
  /** How far the clock of the next command is ahead, so that its timers fire earlier. */
  laterMs = 0;
  haste = 1;
  #asked = 0;

  constructor(folder: WafFolder, server: ScriptedServer) {
    this.folder = folder;
    this.server = server;
    this.url = server.url();
  }

  get blocked(): readonly string[] {
    return this.folder.simulator.waf(testKey).blocklist.toSorted();
  }

  /** Fetches now, and applies the result to the WAF. */
  async apply(annotations: Readonly<Record<string, string>> = {}) {
    this.#asked += 1;
    const asked = { "wafsync.dev/requested-at": String(this.#asked), ...annotations };
    await this.folder.files.write("feed.yaml", feedDocument(this.url, { annotations: asked }));
    const { laterMs, haste } = this;
    return await runWafsync(["apply", ...this.folder.from, "--allow-private-feeds"], { laterMs, haste });
  }

  /** Fetches, and returns the reported result. */
  async seen(what: string, annotations: Readonly<Record<string, string>> = {}) {
    const { code, stderr } = await this.apply(annotations);
    const status = await this.status();
    const [fetched, ready] = [conditionOf(status, "Fetched"), conditionOf(status, "Ready")];
    return { what, code, stderr, blocked: this.blocked, fetched, ready, entries: status.entries };
  }

  async status(): Promise<FeedStatus> {
    return (await this.folder.statusOf("WafFeed/shop/threats")) as FeedStatus;
  }
}

test("a list on the web: fetched, unchanged, changed, on hold, accepted, broken in many ways, and deleted", async () => {
  await using folder = await wafFolder({}, noGuards);
  const server = await ScriptedServer.start();
  const world = new FeedWorld(folder, server);
  await folder.files.write("rule.yaml", feedRule("feed", ["threats"]));
  const list = await ipsum();
  const onePercent = Math.ceil(list.length / 100);
  const text = (addresses: readonly string[]): string => `# A list\n${addresses.join("\n")}\n`;

  server.serves(text(list), { etag: '"v1"' });
  expect(await world.seen("the first fetch")).toStrictEqual(applied("the first fetch", list));

  server.answers(({ headers }, response) => response.writeHead(headers["if-none-match"] === '"v1"' ? 304 : 500).end());
  expect(await world.seen("304")).toStrictEqual(applied("304", list));

  const changed = [...list.slice(onePercent), ...someAddresses(onePercent)].toReversed();
  server.serves(text(changed));
  expect(await world.seen("1 % changed")).toStrictEqual(applied("1 % changed", changed));

  const shrunk = changed.slice(0, Math.floor(changed.length * 0.4));
  server.serves(text(shrunk));
  const shrank = `The feed shrank from ${countOf(changed)} to ${countOf(shrunk)} entries`;
  const gone = await world.seen("60 % gone");
  expect(gone).toStrictEqual(kept("60 % gone", changed, "ContentOnHold", shrank));
  const hash = /wafsync\.dev\/accept-feed: "(?<hash>[0-9a-f]+)"/.exec(gone.stderr)?.groups?.["hash"] ?? "";
  expect((await world.status()).held).toMatchObject({ hash, reason: "Shrunk", entries: shrunk.length });
  const other = "another hash is accepted";
  expect(await world.seen(other, { "wafsync.dev/accept-feed": "0123456789abcdef" })).toStrictEqual(
    kept(other, changed, "ContentOnHold", shrank),
  );
  expect(await world.seen("60 % gone, and accepted", { "wafsync.dev/accept-feed": hash })).toStrictEqual(
    applied("60 % gone, and accepted", shrunk),
  );
  expect((await world.status()).held).toBeUndefined();

  const whole = [...list.slice(1), "192.0.9.9"];
  server.serves(gzipSync(text(whole)), { "content-type": "text/plain" });
  expect(await world.seen("gzip without a header")).toStrictEqual(applied("gzip without a header", whole));

  const half = whole.slice(0, Math.floor(whole.length / 2));
  const broken: readonly [string, reason: string, message: string, () => void][] = [
    ["emptied", "Unavailable", "empty response", () => server.serves("")],
    ["truncated to half", "ContentOnHold", `shrank from ${countOf(whole)} to`, () => server.serves(text(half))],
    [
      "truncated in the middle of a line",
      "Unavailable",
      "is incomplete",
      () =>
        server.answers((_, response) => {
          response.writeHead(200, { "content-length": text(whole).length });
          response.write(text(half), () => response.destroy());
        }),
    ],
  ];
  for (const [what, reason, message, breakIt] of broken) {
    breakIt();
    expect(await world.seen(what)).toStrictEqual(kept(what, whole, reason, message));
  }

  server.answers((_, response) => void response.writeHead(200).write(text(half)));
  world.haste = 30;
  expect(await world.seen("slow")).toStrictEqual(
    kept("slow", whole, "Unavailable", "did not send a complete response"),
  );
  world.haste = 1;

  await server.stop();
  expect(await world.seen("gone")).toStrictEqual(kept("gone", whole, "Unavailable", "Cannot connect to"));
  for (const laterMs of [minuteMs * 10, minuteMs * 61, minuteMs * 60 * 26]) {
    world.laterMs = laterMs;
    expect(await world.seen(`gone for ${laterMs} ms`)).toStrictEqual(
      kept(`gone for ${laterMs} ms`, whole, "Unavailable", "Cannot connect to"),
    );
  }
  expect(conditionOf(await world.status(), "Stale")).toMatchObject({ status: "True", reason: "NotConfirmed" });
  await server.restart();
  server.serves(text(list));
  expect(await world.seen("back")).toStrictEqual(applied("back", list));
  expect(conditionOf(await world.status(), "Stale")).toBeUndefined();
  await server.stop();
});

test("two feeds on one list: while one fails, what the other no longer lists is removed", async () => {
  await using folder = await wafFolder({}, noGuards);
  const [one, other] = [await ScriptedServer.start(), await ScriptedServer.start()];
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
  const why = await runWafsync(["why", "192.0.2.3", ...folder.from]);
  expect(why.stdout).toContain("(WafFeed shop/other)");
  expect(why.stdout).not.toContain("(WafFeed shop/one)");
  one.fails(500);
  other.serves("192.0.2.2\n192.0.2.3\n");
  await declare("2");
  await runWafsync(apply);
  expect(folder.simulator.waf(testKey).blocklist.toSorted()).toStrictEqual(["192.0.2.1", "192.0.2.2", "192.0.2.3"]);
  await Promise.all([one.stop(), other.stop()]);
});

test("a feed with networks that must not be blocked: each of them is rejected, and the rest is applied", async () => {
  await using folder = await wafFolder({}, "  guards: {neverBlock: [198.51.100.7]}\n");
  const server = await ScriptedServer.start();
  const world = new FeedWorld(folder, server);
  await folder.files.write("rule.yaml", feedRule("feed", ["threats"]));
  const good = someAddresses(50);
  await folder.files.write("origin.yaml", originDocument("own", "203.0.113.9"));
  server.serves([...good, "10.0.0.0/8", "127.0.0.1", "1.2.3.4/0/8", "198.51.100.7", "203.0.113.9"].join("\n"));
  const applied = await world.apply();
  expect(applied).toMatchObject({ code: 0, stdout: expect.not.stringContaining("InvalidEntries") });
  expect(world.blocked).toStrictEqual(good.toSorted());
  const { entries, invalidLines } = await world.status();
  expect(entries).toStrictEqual({ total: 55, valid: 54, invalid: 1, duplicates: 0, specialPurpose: 2, used: 54 });
  expect(invalidLines).toMatchObject([{ line: 53, text: "1.2.3.4/0/8" }]);
  const rule = await folder.statusOf("WafIpRule/shop/feed");
  expect(rule).toMatchObject({ entries: { desired: 50, synced: 50, rejected: 2 }, progress: "50/50" });
  const reachable = "which must stay reachable (spec.guards.neverBlock of the instance, or a declared origin).";
  const [ready, accepted] = ["Ready", "Accepted"].map((type) => conditionOf(rule as FeedStatus, type));
  expect(ready).toMatchObject({ status: "True" });
  expect(accepted).toMatchObject({
    status: "True",
    message: `2 entries are not applied. WafFeed shop/threats: 198.51.100.7 overlaps 198.51.100.7, ${reachable}`,
  });
  const planned = await runWafsync(["plan", ...folder.from, "--allow-private-feeds"]);
  expect(planned).toMatchObject({ code: 0, stdout: expect.stringContaining("2 entries of feeds are not applied") });
  expect(planned.stdout).toContain("Nothing to do: the WAF matches the declared state.");
  await server.stop();
});

test("a plan fetches feeds and stores nothing; without the flag, internal addresses are rejected", async () => {
  await using folder = await wafFolder();
  const server = await ScriptedServer.start();
  server.serves("192.0.2.1\n");
  await folder.files.write("feed.yaml", feedDocument(server.url()));
  await folder.files.write("rule.yaml", feedRule("feed", ["threats"]));
  const refused = await runWafsync(["plan", ...folder.from]);
  expect(refused.stderr).toContain("not on the public Internet, which requires --allow-private-feeds");
  expect(server.requests).toStrictEqual([]);
  const planned = await runWafsync(["plan", ...folder.from, "--allow-private-feeds"]);
  expect(planned.stdout).toContain("192.0.2.1");
  expect(planned.code).toBe(1);
  expect(await folder.everyFile()).not.toContain("confirmedAtMs");
  await server.stop();
});

test("the stored content of a feed is deleted with the feed, and kept while a file can't be read", async () => {
  await using folder = await wafFolder({}, noGuards);
  const server = await ScriptedServer.start();
  server.serves("192.0.2.1\n");
  const apply = async () => await runWafsync(["apply", ...folder.from, "--allow-private-feeds"]);
  const remembered = async (): Promise<readonly string[]> => {
    const below = await readdir(join(folder.files.path, ".wafsync/feed"), { recursive: true, withFileTypes: true });
    return [...new Set(below.flatMap((entry) => (entry.isFile() ? basename(entry.name, ".txt") : [])))].sort();
  };
  await folder.files.write("goes.yaml", feedDocument(server.url(), { name: "goes" }));
  await folder.files.write("stays.yaml", feedDocument(server.url(), { name: "stays" }));
  expect((await apply()).code).toBe(0);
  expect(await remembered()).toStrictEqual(["goes", "stays"]);
  await folder.files.write("goes.yaml", "kind: [\n");
  await apply();
  expect(await remembered()).toStrictEqual(["goes", "stays"]);
  await folder.files.write("goes.yaml", "");
  expect((await apply()).code).toBe(0);
  expect(await remembered()).toStrictEqual(["stays"]);
  await server.stop();
});
