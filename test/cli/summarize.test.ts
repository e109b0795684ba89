import { describe, expect, test } from "@jest/globals";
import { findIn, overviewPage } from "../../src/pages/waf-pages.ts";
import { summarize } from "../../src/cli/summarize.ts";
import type { Seen } from "../../src/cli/targets/target.ts";
import { textOf } from "../support/worlds/open-page.ts";

const nothing: Seen = {
  atMs: Date.UTC(2026, 10, 22, 12),
  where: "in folder waf/",
  objects: [],
  gaps: [],
};
const cluster = { context: "staging", allowInsecureHttp: false };
const find = findIn(new URLSearchParams());
const condition = { type: "Ready", status: "False", reason: "TooFewEntries", message: "The new content is on hold." };

function feedWith(status: Readonly<Record<string, unknown>> | undefined): Seen {
  return { ...nothing, objects: [{ kind: "WafFeed", namespace: "shop", name: "drop", status }] };
}

describe("The summary", () => {
  const held = feedWith({
    conditions: [condition],
    entries: { used: 1_519, invalid: 2 },
    lastGoodTime: "2026-11-22T09:00:00Z",
    held: { hash: "c0ffee", reason: "TooFewEntries", entries: 12, since: "2026-11-22T11:00:00Z" },
  });

  test("has a feed with its counts, its age, and the command that accepts content on hold", () => {
    const summary = summarize(held, cluster);
    expect(summary.feeds).toMatchObject([{ feed: "shop/drop", ready: "False", entries: 1_519, invalid: 2 }]);
    expect(summary.feeds[0]?.heldContent?.accept).toBe(
      "kubectl annotate waffeed drop -n shop --overwrite wafsync.dev/accept-feed=c0ffee",
    );
    expect(textOf(overviewPage(summary, find))).toMatch(/shop\/drop\s+Not ready: TooFewEntries[^]*3 h ago/);
  });

  test("says that no WAF is declared", () => {
    expect(textOf(overviewPage(summarize(nothing, cluster), find))).toContain("To add a WAF, declare a WafInstance");
  });

  test("has the number of removals on hold, their hash and the command that approves them", () => {
    const list = { live: 40, managed: 40, foreign: 0, pending: 0, held: 33 };
    const group = { list: "blocklist", owners: "WafIpRule shop/feed", count: 33, reason: "Too many.", examples: [] };
    const status = { blocklist: list, heldPlan: "9f2c", removalsOnHold: [group] };
    const instance = { kind: "WafInstance", namespace: "shop", name: "main", status } as const;
    const summary = summarize({ ...nothing, objects: [instance] }, cluster);
    expect(summary.totals).toMatchObject({ onHold: 33, unknown: 1 });
    expect(summary.instances[0]).toMatchObject({
      heldPlan: "9f2c",
      approve: "wafsync approve --context staging --instance shop/main",
      onHold: [group],
    });
  });
});
