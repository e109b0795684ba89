// The overview page and the summary of 1,000 WAFs with 100,000 entries, whatever the names and messages of their objects are.
import { describe, expect, test } from "@jest/globals";
import { readObservedEntry } from "../../src/address/entry.ts";
import { summarySchema } from "../../src/kinds/summary.ts";
import { chooseInstancePage, findIn, overviewPage } from "../../src/pages/waf-pages.ts";
import { summarize } from "../../src/cli/summarize.ts";
import type { Seen, SeenObject } from "../../src/cli/targets/target.ts";

const instanceCount = 1_000;
const rulesOfEach = 3;
const pageBytesMax = 300_000;
const hostile = `<script>window.hit=1</script>\u{202e}\u{0}"'><img src=x onerror=hit>`.repeat(1_000);

function condition(status: string, reason: string, message: string) {
  return [{ type: "Ready", status, reason, message, lastTransitionTime: "2026-11-22T10:00:00Z" }];
}

function instanceOf(place: number, message: string): SeenObject {
  const list = { live: 100, managed: 90, foreign: 10, pending: place % 7, held: 0 };
  const isReady = place % 2 === 0;
  return {
    kind: "WafInstance",
    namespace: `team-${place % 50}`,
    name: `waf-${String(place).padStart(4, "0")}`,
    baseUrl: "https://waf.example.com",
    status: {
      conditions: condition(isReady ? "True" : "False", isReady ? "Ready" : "ApiUnavailable", message),
      domain: `shop-${place}.example`,
      blocklist: list,
      allowlist: { ...list, live: 5 },
      lastSyncTime: "2026-11-22T10:00:00Z",
    },
  };
}

function seenWith(message: string): Seen {
  const instances = Array.from({ length: instanceCount }, (_, place) => instanceOf(place, message));
  const attached = instances.flatMap(({ namespace, name }): SeenObject[] =>
    Array.from({ length: rulesOfEach }, (_, rule) => ({
      kind: "WafIpRule",
      namespace,
      name: `${name}-${rule}`,
      instance: { namespace, name },
      status: { conditions: condition("False", "InvalidEntries", message), progress: "1/2" },
    })),
  );
  return {
    atMs: 0,
    where: "in all namespaces",
    objects: [...instances, ...attached],
    gaps: [message],
  };
}

const cluster = { allowInsecureHttp: false };

describe("The overview page of 1,000 WAFs", () => {
  test.each([
    ["ordinary", "The WAF API is unreachable: wafsync retries in 30 s. ".repeat(5)],
    ["hostile", hostile],
  ])("is at most 300 KB with %s messages, and shows WAFs that need attention first", (_what, message) => {
    const summary = summarize(seenWith(message), cluster);
    expect(summarySchema.safeParse(summary).success).toBe(true);
    const text = overviewPage(summary, findIn(new URLSearchParams()));
    expect(Buffer.byteLength(text)).toBeLessThan(pageBytesMax);
    expect(text).toContain("500 of 1,000 WAFs are not ready");
    expect(text.match(/class="mark bad"/g)).toHaveLength(100);
    expect(/<script>|<img|[\p{Cf}\p{Cc}]/u.test(text.replaceAll("\n", ""))).toBe(false);
  });

  test("counts the other WAFs, and finds them by name and domain", () => {
    const summary = summarize(seenWith("wait"), cluster);
    expect(overviewPage(summary, "")).toContain("… and 900 more");
    const found = overviewPage(summary, findIn(new URLSearchParams({ find: "SHOP-77.example" })));
    expect(found.match(/\/instances\/[^"]+/g)).toStrictEqual(["/instances/team-27/waf-0077"]);
    expect(overviewPage(summary, findIn(new URLSearchParams({ find: '"><b>' })))).not.toContain('"><b>');
  });

  test("links each WAF to the search for an address", () => {
    const address = readObservedEntry("192.0.2.1");
    const text = chooseInstancePage(summarize(seenWith("wait"), cluster), "shop-77.example", address, 10);
    expect(text).toContain('href="/why?address=192.0.2.1&amp;instance=team-27%2Fwaf-0077"');
    expect(text).toContain("Which WAF blocks or allows 192.0.2.1?");
  });

  test("counts the rules of each WAF", () => {
    const { instances, totals } = summarize(seenWith("wait"), cluster);
    expect(totals).toMatchObject({ instances: 1_000, ready: 500, notReady: 500, blocked: 100_000, allowed: 5_000 });
    expect(
      instances.every(({ rules, notReady, objects }) => rules === 3 && notReady === 3 && objects.length === 3),
    ).toBe(true);
  });
});
