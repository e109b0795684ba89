// Decisions of a real local API of CrowdSec: its changes and its failures.
// Long: `npm run test:deploy` runs it.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { realClock } from "../../src/async/clock.ts";
import type { FetchOptions } from "../../src/feeds/feed-request.ts";
import { outcomeOf } from "../../src/feeds/feed-fetcher.ts";
import { CrowdsecSource } from "../../src/feeds/crowdsec.ts";
import { ApiKey } from "../../src/model/api-key.ts";
import type { CrowdsecFeed } from "../../src/model/declared.ts";
import { atTestEnd } from "../support/builders/at-test-end.ts";
import { crowdsecFeed } from "../support/builders/declare-feed.ts";
import { apiVersion, type Manifest, rule } from "../support/builders/manifests.ts";
import { everythingPrinted } from "../support/processes/wafsync-process.ts";
import { findCrowdsec } from "../support/control-plane/go-programs.ts";
import { describeWithFound } from "../support/processes/describe-missing.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";
import { conditionOf, type TestWaf } from "../support/worlds/operator-world.ts";
import { CrowdsecProcess } from "./crowdsec-process.ts";

/** `192.0.2.0` and so on, none of them for special purposes only. */
function addresses(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `203.${index >> 8}.113.${index & 255}`);
}

await describeWithFound("CrowdSec", "a local API to ask", await findCrowdsec(), async (program) => {
  test("What test/feeds expects of a local API: a cursor for each client, and no word of a lost table in the stream", async () => {
    const server = await CrowdsecProcess.start(program);
    atTestEnd(async () => await server.close());
    const source = crowdsecFeed({}, server.url).source as CrowdsecFeed;
    const options: FetchOptions = {
      isAllowed: () => true,
      isPublicOnly: false,
      allowInsecureHttp: true,
      clock: realClock,
      userAgent: "wafsync/1",
      redact: (text) => text,
      inTurn: async (read) => await read(),
    };
    const newLeader = () => {
      const client = new CrowdsecSource();
      return async (): Promise<string> => {
        const asked = { source, key: new ApiKey(server.key), isCurrent: true };
        const outcome = await outcomeOf(async () => await client.pull(asked, options), options.redact);
        if (outcome.kind === "Failed") return outcome.fault.message;
        return outcome.kind === "NotModified" ? "" : `${outcome.kind} ${outcome.reading.content.entries.join(" ")}`;
      };
    };
    await server.add({ value: "203.0.113.1", seconds: 600 }, { value: "203.0.113.2", seconds: 600 });
    const former = newLeader();
    expect(await former()).toBe("Read 203.0.113.1 203.0.113.2");
    await server.end("203.0.113.1");
    expect(await former()).toBe("Updated 203.0.113.2");
    const next = newLeader();
    expect(await next()).toBe("Read 203.0.113.2");
    server.dropDecisions();
    expect(await next()).toBe("Updated 203.0.113.2");
    expect(await newLeader()()).toContain("responded with status 500");
  });

  await describeOperator("the operator with a local API", (world) => {
    let server: CrowdsecProcess;
    let asked = 0;

    beforeAll(async () => {
      server = await CrowdsecProcess.start(program);
      await world().startOperator({ parameters: ["--allow-private-feeds"] });
    });

    afterAll(async () => await server.close());

    async function pull(namespace: string): Promise<void> {
      asked += 1;
      const feed: Manifest = {
        apiVersion,
        kind: "WafFeed",
        metadata: { name: "threats", namespace, annotations: { "wafsync.dev/requested-at": String(asked) } },
        spec: { crowdsec: { url: server.url, apiKeySecretRef: { name: "crowdsec" } } },
      };
      await world().apply(feed);
    }

    async function listed(waf: TestWaf, what: string, entries: readonly string[]): Promise<void> {
      const wanted = [...entries].sort().join(" ");
      await world().eventually(what, () => [...waf.view.blocklist].sort().join(" ") === wanted, 150_000);
    }

    test("has two thousand decisions on the WAF, and removes those that expire while the server is down", async () => {
      const guards = { maxRemovals: 100_000, maxRemovalPercent: 100 };
      const { namespace, waf } = await world().newInstance("crowdsec", { guards });
      const secret: Manifest = {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "crowdsec", namespace },
        stringData: { apiKey: server.key },
      };
      const [twice = "", ...lasting] = addresses(1900);
      const brief = addresses(2000).slice(1900);
      await server.add(...lasting.map((value) => ({ value, seconds: 3600 })));
      await server.add({ value: twice, seconds: 3600 }, { value: twice, scenario: "test/other", seconds: 7200 });
      const feedRule = rule(namespace, "feed", [], { addressesFrom: [{ feedRef: { name: "threats" } }] });
      await world().apply(secret, feedRule, rule(namespace, "by-hand", [twice]));
      await pull(namespace);
      await listed(waf, "what lasts is on the WAF", [twice, ...lasting]);
      await server.add(...brief.map((value) => ({ value, seconds: 30 })));
      await pull(namespace);
      await listed(waf, "two thousand entries", [twice, ...lasting, ...brief]);

      await server.kill();
      await listed(waf, "what has ended is gone", [twice, ...lasting]);
      const fetched = async () => conditionOf(await world().read("WafFeed", namespace, "threats"), "Fetched");
      await pull(namespace);
      await world().eventually("the server is missed", async () => (await fetched())?.reason === "Unavailable");
      await listed(waf, "nothing else is gone", [twice, ...lasting]);

      await server.start();
      await server.end(twice);
      await pull(namespace);
      await world().eventually("the server is back", async () => (await fetched())?.reason === "Fetched");
      await listed(waf, "the rule still wants it", [twice, ...lasting]);
      await world().remove(rule(namespace, "by-hand", [twice]));
      await listed(waf, "nobody wants it any more", lasting);
      expect(everythingPrinted()).not.toContain(server.key);
    });
  });
});
