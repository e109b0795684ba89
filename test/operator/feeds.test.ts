// Feeds, and Secrets with addresses, in a cluster. Feeds are fetched by the leader, stored in WafRecords.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { someAddresses } from "../support/builders/declare-feed.ts";
import { apiVersion, type Manifest, rule } from "../support/builders/manifests.ts";
import { ScriptedServer } from "../support/fakes/scripted-server.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";
import { type TestWaf } from "../support/worlds/operator-world.ts";

/** The guards of the instance never apply here, because these tests are about the guards of feeds. */
const unguarded = { guards: { maxRemovals: 100_000, maxRemovalPercent: 100 } };
const parameters = ["--allow-private-feeds"];

function feedRule(namespace: string): Manifest {
  return rule(namespace, "feed", [], { addressesFrom: [{ feedRef: { name: "threats" } }] });
}

await describeOperator("feeds", (world) => {
  let server: ScriptedServer;
  let asked = 0;

  beforeAll(async () => {
    server = await ScriptedServer.start();
    await world().startOperator({ parameters });
  });

  afterAll(async () => {
    await server.stop();
  });

  async function declare(namespace: string, annotations: object = {}): Promise<void> {
    asked += 1;
    await world().apply({
      apiVersion,
      kind: "WafFeed",
      metadata: { name: "threats", namespace, annotations: { "wafsync.dev/requested-at": `${asked}`, ...annotations } },
      spec: { http: { url: server.url(`/${namespace}`) } },
    });
  }

  async function statusOf(namespace: string) {
    return (await world().read("WafFeed", namespace, "threats"))?.status;
  }

  async function listed(waf: TestWaf, entries: readonly string[]): Promise<void> {
    const wanted = [...entries].sort().join(" ");
    await world().eventually(
      `${entries.length} entries on the list`,
      () => [...waf.view.blocklist].sort().join(" ") === wanted,
    );
  }

  async function becomes(namespace: string, expected: string): Promise<void> {
    await world().becomes("WafFeed", namespace, "threats", "Fetched", expected);
  }

  async function recordsIn(namespace: string): Promise<readonly string[]> {
    const path = `/apis/${apiVersion}/namespaces/${namespace}/wafrecords?labelSelector=wafsync.dev%2Frecord%3DFeed`;
    const { items } = (await world().requests.expect({ path })) as { items: { metadata: { name: string } }[] };
    return items.map(({ metadata }) => metadata.name);
  }

  test("content arrives, survives a restart without its server, is put on hold, and is accepted", async () => {
    const { namespace, waf } = await world().newInstance("feeds", unguarded);
    const list = someAddresses(40);
    server.serves(`${list.join("\n")}\n`, { etag: '"v1"' });
    await declare(namespace);
    await world().apply(feedRule(namespace));
    await listed(waf, list);
    await world().allReady(namespace);
    expect(await statusOf(namespace)).toMatchObject({
      entries: { total: 40, valid: 40, invalid: 0, duplicates: 0, specialPurpose: 0, used: 40 },
      etag: '"v1"',
    });
    expect(await recordsIn(namespace)).toStrictEqual(["threats-feed"]);

    await world().operator.end();
    server.fails(503);
    await world().startOperator({ parameters });
    await declare(namespace);
    await becomes(namespace, "False Unavailable");
    await listed(waf, list);

    const shrunk = list.slice(0, 10);
    server.serves(shrunk.join("\n"));
    await declare(namespace);
    await becomes(namespace, "False ContentOnHold");
    await listed(waf, list);
    const held = (await statusOf(namespace))?.["held"] as { hash: string };
    await declare(namespace, { "wafsync.dev/accept-feed": held.hash });
    await listed(waf, shrunk);
    await becomes(namespace, "True Fetched");
    expect(await recordsIn(namespace)).toStrictEqual(["threats-feed"]);
    const reasons = (await world().events(namespace)).map((event) => event.reason);
    expect(reasons).toStrictEqual(
      expect.arrayContaining(["FeedFetchFailed", "FeedContentOnHold", "FeedContentAccepted", "FeedChanged"]),
    );
  });

  test("the addresses of a Secret are listed, and its other lines are in no status, event, record, metric or log", async () => {
    const { namespace, waf } = await world().newInstance("secret-list", unguarded);
    const secret: Manifest = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "partners", namespace },
      stringData: { list: "198.51.100.9\nhunter2-0123456789\n" },
    };
    const addressesFrom = [{ secretKeyRef: { name: "partners", key: "list" } }];
    await world().apply(secret, rule(namespace, "feed", [], { addressesFrom }));
    await listed(waf, ["198.51.100.9"]);
    const statusNow = async () => (await world().read("WafIpRule", namespace, "feed"))?.status;
    const shown = {
      rejected: [{ entry: "(not shown)", source: `Secret ${namespace}/partners, key list, line 2` }],
      sources: [{ secret: "partners", key: "list", entries: 1 }],
    };
    await world().eventually("the status of the rule", async () => (await statusNow())?.["sources"] !== undefined);
    const status = await statusNow();
    expect(status).toMatchObject(shown);
    const records = await world().requests.expect({ path: `/apis/${apiVersion}/namespaces/${namespace}/wafrecords` });
    const told = JSON.stringify([status, records, await world().events(namespace)]);
    const { operator } = world();
    expect(`${told}${operator.process.printed()}${await operator.metrics()}`).not.toContain("hunter2");
  });
});
