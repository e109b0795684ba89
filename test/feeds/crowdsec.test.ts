import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { FetchOutcome } from "../../src/feeds/feed-state.ts";
import { CrowdsecSource } from "../../src/feeds/crowdsec.ts";
import { outcomeOf } from "../../src/feeds/feed-fetcher.ts";
import { ApiKey } from "../../src/model/api-key.ts";
import type { CrowdsecFeed } from "../../src/model/declared.ts";
import { crowdsecFeed } from "../support/builders/declare-feed.ts";
import { FakeCrowdsec } from "./fake-crowdsec.ts";
import { createVirtualClock, type VirtualClock } from "../support/fakes/virtual-clock.ts";

let crowdsec: FakeCrowdsec;
let clock: VirtualClock;
let client: CrowdsecSource;

beforeEach(async () => {
  crowdsec = await FakeCrowdsec.start();
  clock = createVirtualClock();
  client = new CrowdsecSource();
});

afterEach(async () => {
  await crowdsec.stop();
});

interface PullOptions {
  readonly key?: string;
  readonly isCurrent?: boolean;
  readonly source?: Partial<CrowdsecFeed>;
}

async function pull({ key = crowdsec.key, isCurrent = true, source = {} }: PullOptions = {}): Promise<FetchOutcome> {
  const feed = { ...crowdsecFeed({}, crowdsec.url).source, ...source } as CrowdsecFeed;
  const options = {
    clock,
    isAllowed: () => true,
    isPublicOnly: true,
    allowInsecureHttp: true,
    userAgent: "wafsync/0.0.0",
    redact: (text: string) => text,
    inTurn: async <T>(read: () => Promise<T>) => await read(),
  };
  const asked = { source: feed, key: new ApiKey(key), isCurrent };
  return await outcomeOf(async () => await client.pull(asked, options), options.redact);
}

function shown(outcome: FetchOutcome): string {
  if (outcome.kind === "Failed") return outcome.fault.message;
  return outcome.kind === "NotModified" ? outcome.kind : `${outcome.kind} ${outcome.reading.content.entries.join(" ")}`;
}

describe("The decisions of CrowdSec", () => {
  test("are first read completely, then incrementally", async () => {
    crowdsec.add({ value: "192.0.2.1", seconds: 60 }, { value: "198.51.100.0/24", scope: "range", seconds: 60 });
    expect(shown(await pull())).toBe("Read 192.0.2.1 198.51.100.0/24");
    crowdsec.add({ value: "2001:DB8::1", seconds: 60 });
    crowdsec.remove("192.0.2.1");
    expect(shown(await pull())).toBe("Updated 198.51.100.0/24 2001:db8::1");
    expect(shown(await pull())).toBe("Updated 198.51.100.0/24 2001:db8::1");
    expect(crowdsec.calls).toStrictEqual([
      "/v1/decisions/stream?startup=false&scopes=ip%2Crange",
      "/v1/decisions?type=ban",
      ...Array<string>(2).fill("/v1/decisions/stream?startup=false&scopes=ip%2Crange"),
    ]);
    expect(crowdsec.server.requests[0]?.headers).toMatchObject({ "user-agent": "wafsync/0.0.0" });
  });

  test("expire after their durations, and the longest of several counts", async () => {
    crowdsec.add(
      { value: "192.0.2.1", seconds: 60 },
      { value: "192.0.2.1", seconds: 120 },
      { value: "192.0.2.2", seconds: -5 },
    );
    const outcome = await pull();
    expect(shown(outcome)).toBe("Read 192.0.2.1");
    expect(outcome).toMatchObject({
      reading: { content: { expiresAtMs: new Map([["192.0.2.1", clock.nowMs() + 120_000]]) } },
    });
    await clock.advance(121_000);
    expect(shown(await pull())).toBe("Updated ");
  });

  test("of a filter are complete, whatever other decisions for the same value the server knows", async () => {
    const source = { origins: ["crowdsec"] };
    crowdsec.add({ value: "192.0.2.1", seconds: 900, origin: "crowdsec" });
    crowdsec.add({ value: "192.0.2.2", seconds: 90_000, origin: "lists" });
    expect(shown(await pull({ source }))).toBe("Read 192.0.2.1");
    crowdsec.add({ value: "192.0.2.2", seconds: 600, origin: "crowdsec" });
    crowdsec.add({ value: "192.0.2.2", seconds: 60, origin: "crowdsec" });
    expect(shown(await pull({ source }))).toBe("Updated 192.0.2.1 192.0.2.2");
    crowdsec.remove("192.0.2.2", 60);
    expect(shown(await pull({ source }))).toBe("Updated 192.0.2.1 192.0.2.2");
    crowdsec.remove("192.0.2.2", 600);
    expect(shown(await pull({ source }))).toBe("Updated 192.0.2.1");
  });

  test("stay when the server's table is missing, which its stream does not report", async () => {
    crowdsec.add({ value: "192.0.2.1", seconds: 7200 });
    await pull();
    crowdsec.isTableGone = true;
    expect(shown(await pull())).toBe("Updated 192.0.2.1");
    await clock.advance(3_600_000);
    expect(shown(await pull())).toMatch(/ responded with status 500/);
    crowdsec.isTableGone = false;
    expect(shown(await pull())).toBe("Read 192.0.2.1");
  });

  test("are read completely again after a failure, because the position of the cursor is unknown", async () => {
    crowdsec.add({ value: "192.0.2.1", seconds: 60 });
    await pull();
    crowdsec.add({ value: "192.0.2.2", seconds: 60 });
    crowdsec.server.answers((_, response) => {
      response.writeHead(200, { "content-length": "1000" });
      response.write("{", () => response.destroy());
    });
    expect(shown(await pull())).toMatch(/is incomplete/);
    crowdsec.works();
    expect(shown(await pull())).toBe("Read 192.0.2.1 192.0.2.2");
  });

  test("are read completely again after too many that can't be used", async () => {
    crowdsec.decisions = Array.from({ length: 100_001 }, (_, nth) => ({ value: `host-${nth}`, seconds: 60 }));
    expect(shown(await pull())).toMatch(/100,000/);
    crowdsec.decisions = [{ value: "192.0.2.1", seconds: 60 }];
    expect(shown(await pull())).toBe("Read 192.0.2.1");
  });

  test("are read completely again while the content in use is not that of the last pull", async () => {
    await pull();
    expect(shown(await pull({ isCurrent: false }))).toMatch(/^Read/);
  });

  test("are requested only once with a wrong key, which appears in no message", async () => {
    const outcome = shown(await pull({ key: "wr0ng-key-of-tests" }));
    expect(outcome).toMatch(/ rejected the API key \(403\)/);
    expect(outcome).not.toContain("wr0ng");
    expect(crowdsec.calls).toHaveLength(1);
  });

  test.each([
    '{"message": "hello"}',
    '[{"value": "192.0.2.1"}]',
    "<html>",
    '[{"scope":"Ip","type":"ban","value":"192.0.2.1","duration":"soon"}]',
  ])("are not read from any other response: %s", async (body) => {
    crowdsec.server.answers(({ url }, response) => response.end(url.includes("stream") ? "{}" : body));
    expect(shown(await pull())).toMatch(/: check spec\.crowdsec\.url\.$/);
  });

  test("are read completely every hour, even if the clock is set back", async () => {
    crowdsec.add({ value: "192.0.2.1", seconds: 900_000 });
    expect(shown(await pull())).toBe("Read 192.0.2.1");
    clock.jumpWallClock(-5 * 3_600_000);
    await clock.advance(1_800_000);
    expect(shown(await pull())).toBe("Updated 192.0.2.1");
    await clock.advance(1_800_000);
    expect(shown(await pull())).toBe("Read 192.0.2.1");
  });
});
