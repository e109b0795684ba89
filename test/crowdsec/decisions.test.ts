// Decisions of a real local API of CrowdSec: its changes and its failures.
// Long: `npm run test:deploy` runs it.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { FeedFetcher } from "../../src/feeds/feed-fetcher.ts";
import { type Clock, realClock } from "../../src/async/clock.ts";
import { ApiKey } from "../../src/model/api-key.ts";
import type { CrowdsecFeed, DeclaredFeed } from "../../src/model/declared-feed.ts";
import { Redactor } from "../../src/model/redactor.ts";
import type { FeedState } from "../../src/feeds/feed-state.ts";
import { FeedBook } from "../../src/feeds/feed-book.ts";
import { aFeed, crowdsecFeed } from "../support/builders/declare-feed.ts";
import { apiVersion, type Manifest, rule } from "../support/builders/manifests.ts";
import { RecordedStatus } from "../support/fakes/recorded-status.ts";
import { everythingPrinted } from "../support/processes/wafsync-process.ts";
import { findCrowdsec } from "../support/control-plane/go-programs.ts";
import { describeWithFound } from "../support/processes/describe-missing.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";
import { conditionOf, type TestWaf } from "../support/worlds/operator-world.ts";
import { CrowdsecProcess } from "./crowdsec-process.ts";

const minuteMs = 60_000;
const name = { namespace: "shop", name: "crowdsec" };
const never = new AbortController().signal;

/** `192.0.2.0` and so on, none of them for special purposes only. */
function addresses(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `203.${index >> 8}.113.${index & 255}`);
}

/** Leaders come and go; what they store stays. */
class Installation {
  storeProblem: string | undefined;
  /** Deadlines pass this much faster than they do outside. */
  haste = 1;
  maxShrinkPercent = 30;
  source: Partial<CrowdsecFeed> = {};
  readonly #server: CrowdsecProcess;
  #stored: FeedState | undefined;
  #laterMs = 0;
  #asked = 0;
  #book: FeedBook;

  constructor(server: CrowdsecProcess) {
    this.#server = server;
    this.#book = this.#newBook();
  }

  get entries(): readonly string[] {
    return (this.#book.view(name)?.content?.entries ?? []).toSorted();
  }

  get problems(): string {
    return this.#book.problems().join(" ");
  }

  later(delayMs: number): void {
    this.#laterMs += delayMs;
  }

  newLeader(): void {
    this.#book = this.#newBook();
  }

  async pull(): Promise<readonly string[]> {
    this.#asked += 1;
    await this.#book.declare([this.#feed()]);
    for (const key of this.#book.names()) await this.#book.visit(key, never);
    return this.entries;
  }

  #nowMs(): number {
    return realClock.nowMs() + this.#laterMs;
  }

  #newBook(): FeedBook {
    const clock: Clock = {
      ...realClock,
      nowMs: () => this.#nowMs(),
      monotonicMs: () => this.#nowMs(),
      schedule: (delayMs, act) => realClock.schedule(delayMs / this.haste, act),
    };
    const { fetch, forget } = new FeedFetcher({
      policy: { allowInsecureHttp: true, allowPrivateFeeds: true },
      readSecret: async () => ({ ok: true, value: new ApiKey(this.#server.key) }),
      clock,
      redactor: new Redactor(),
      version: "1.2.3",
    });
    const store = {
      load: async () => ({ ok: true, state: this.#stored }) as const,
      save: async (_: unknown, state: FeedState) => {
        if (this.storeProblem === undefined) this.#stored = state;
        return this.storeProblem;
      },
    };
    return new FeedBook({ store, fetch, forget, status: new RecordedStatus(), clock, random: () => 0 });
  }

  #feed(): DeclaredFeed {
    const { meta } = aFeed({ annotations: { "wafsync.dev/requested-at": String(this.#asked) } });
    const { maxShrinkPercent } = this;
    const guards = { minEntries: 0, maxShrinkPercent, maxInvalidPercent: 5, maxEntries: 10_000, maxAddresses: 2 ** 24 };
    const feed = crowdsecFeed({ meta: { ...meta, ...name }, intervalMs: minuteMs, guards }, this.#server.url);
    return { ...feed, source: { ...feed.source, ...this.source } as CrowdsecFeed };
  }
}

await describeWithFound("CrowdSec", "a local API to ask", await findCrowdsec(), async (program) => {
  describe("a local API", () => {
    let server: CrowdsecProcess;
    let installation: Installation;

    beforeEach(async () => {
      server = await CrowdsecProcess.start(program);
      installation = new Installation(server);
    });

    afterEach(async () => await server.close());

    test("is read completely by a new leader, whatever the previous one received and could not store", async () => {
      await server.add({ value: "203.0.113.1", seconds: 600 }, { value: "203.0.113.2", seconds: 600 });
      await installation.pull();
      await server.add({ value: "203.0.113.3", seconds: 600 });
      await server.end("203.0.113.1");
      installation.storeProblem = "The Lease is lost.";
      // The cursor in the server is beyond these changes then.
      expect(await installation.pull()).toStrictEqual(["203.0.113.1", "203.0.113.2"]);
      installation.storeProblem = undefined;
      installation.newLeader();
      await server.add({ value: "203.0.113.4", seconds: 600 });
      expect(await installation.pull()).toStrictEqual(["203.0.113.2", "203.0.113.3", "203.0.113.4"]);
      await server.add({ value: "203.0.113.5", seconds: 600 });
      expect(await installation.pull()).toStrictEqual(["203.0.113.2", "203.0.113.3", "203.0.113.4", "203.0.113.5"]);
      expect(server.bouncers()).toStrictEqual(["wafsync"]);
    });

    test("loses its table: nothing is removed, neither then nor after an empty table replaced it", async () => {
      const all = addresses(50);
      await server.add(...all.map((value) => ({ value, seconds: 600 })));
      expect(await installation.pull()).toStrictEqual(all.toSorted());
      server.dropDecisions();
      // The stream claims that nothing has changed; the full list, which is due after an hour, fails.
      expect(await installation.pull()).toStrictEqual(all.toSorted());
      installation.newLeader();
      expect(await installation.pull()).toStrictEqual(all.toSorted());
      expect(installation.problems).toContain("responded with status 500");
      await server.kill();
      await server.start();
      expect(await installation.pull()).toStrictEqual(all.toSorted());
      expect(installation.problems).toContain("shrank from 50 to 0 entries");
      // The person has seen that it is so.
      installation.maxShrinkPercent = 100;
      expect(await installation.pull()).toStrictEqual([]);
    });
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
