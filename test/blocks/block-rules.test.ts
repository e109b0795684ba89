import { describe, expect, test } from "@jest/globals";
import type { JudgedEntry } from "../../src/blocks/judge.ts";
import type { GatheredRule } from "../../src/model/gathered.ts";
import type { BlocksView } from "../../src/blocks/block-book.ts";
import { withBlockRules } from "../../src/blocks/block-rules.ts";
import { examineInSlices, explainAddress } from "../../src/decide/explain.ts";
import { anAutoBlock, type AutoBlockOverrides } from "../support/builders/declare-auto-block.ts";
import { aGrant, anInstance, anOrigin, aRule } from "../support/builders/declare.ts";
import {
  anInventory,
  desiredOf,
  entry,
  gathered,
  type InventoryOverrides,
  nowMs,
  observed,
  ownedBy,
  planOf,
} from "../support/builders/gathered.ts";
import { finished } from "../../src/model/finished.ts";
import { compileDesired } from "../../src/decide/desired.ts";

const hourMs = 3_600_000;

function judged(text: string, overrides: Partial<JudgedEntry> = {}): JudgedEntry {
  const times = { sinceMs: nowMs - hourMs / 2, untilMs: nowMs + hourMs / 2, firstMs: nowMs - hourMs, lastMs: nowMs };
  const reasons: JudgedEntry["reasons"] = [["SQL Injection", 60]];
  return { entry: entry(text), ...times, times: 1, requests: 63, reasons, ...overrides };
}

function viewOf(listed: JudgedEntry[], name = "edge/scanners", uid = anAutoBlock().meta.uid): BlocksView {
  const rows = { matched: 63, late: 0, unreadable: 0 };
  const judgement = { listed, rows, lastRowMs: nowMs, leftOut: 0 };
  return { state: "Known", judgements: { [`${name} ${uid}`]: judgement }, reading: undefined };
}

interface Story extends AutoBlockOverrides {
  readonly rules?: readonly GatheredRule[];
  readonly origins?: readonly string[];
  readonly neverBlock?: readonly string[];
}

function declared(entries: JudgedEntry[], { rules = [], origins = [], neverBlock = [], ...block }: Story = {}) {
  const autoBlock = anAutoBlock(block);
  const name = `${autoBlock.meta.namespace}/${autoBlock.meta.name}`;
  const plain = gathered({
    instance: anInstance({ guards: { neverBlock } }),
    rules,
    origins: origins.map((host) => anOrigin(host)),
    autoBlocks: [autoBlock],
  });
  return withBlockRules(plain, viewOf(entries, name, autoBlock.meta.uid));
}

function blocked(entries: JudgedEntry[], story: Story = {}): string[] {
  return [...desiredOf(declared(entries, story)).lists.blocklist.keys()];
}

const owner = { kind: "WafAutoBlock", name: "edge/scanners", source: "the log of blocked requests" } as const;

/** The record of an entry that wafsync added for the WafAutoBlock. */
const held: InventoryOverrides = { blocklist: [["203.0.113.7", undefined, [owner]]] };

describe("the declaration of a WafAutoBlock", () => {
  test("contains its entries for as long as it lists them", () => {
    const entries = [judged("203.0.113.7"), judged("203.0.113.8", { untilMs: nowMs })];
    expect(blocked(entries)).toStrictEqual(["203.0.113.7"]);
    expect(desiredOf(declared(entries)).nextExpiryMs).toBe(nowMs + hourMs / 2);
  });

  test("is empty while it only suggests, and suggestions expire as well", () => {
    const story = { mode: "Suggest" } as const;
    const entries = [judged("203.0.113.7"), judged("203.0.113.8", { untilMs: nowMs })];
    expect(blocked(entries, story)).toStrictEqual([]);
    const [rule] = desiredOf(declared(entries, story)).rules;
    expect([...(rule?.suggested ?? [])]).toStrictEqual(["203.0.113.7"]);
  });

  test("is added with its name and the evidence, and removed regardless of the guards", () => {
    const added = planOf({ gathered: declared([judged("203.0.113.7")]) });
    expect(added.operations).toMatchObject([
      {
        kind: "AddEntry",
        entry: "203.0.113.7",
        rules: ["WafAutoBlock edge/scanners"],
        note: expect.stringMatching(/^63 requests from \S+ to \S+: 60 SQL/),
      },
    ]);
    const many = Array.from({ length: 200 }, (_, index) => `198.18.0.${index}`);
    const inventory = { blocklist: many.map((text) => [text, undefined, [owner]] as const) };
    const observed = { blocklist: many };
    const ended = planOf({ gathered: declared([]), observed, inventory });
    expect([ended.operations.length, ended.held]).toStrictEqual([200, undefined]);
    // It was deleted, perhaps by mistake: the guards count.
    expect(planOf({ observed, inventory }).held?.removals.blocklist).toHaveLength(200);
  });

  test("is explained with the evidence and the end", () => {
    const input = {
      gathered: declared([judged("203.0.113.7")]),
      live: { blocklist: ["203.0.113.7"], allowlist: [] },
      inventory: anInventory(held),
      nowMs,
    };
    expect(explainAddress(entry("203.0.113.7"), finished(examineInSlices(input)))).toMatchObject({
      verdict: "Blocked",
      coverings: [{ wantedBy: [{ note: expect.stringContaining("63 requests"), expiresAtMs: nowMs + hourMs / 2 }] }],
    });
  });

  test("stays on the list while its entries are unknown", () => {
    const plain = gathered({ autoBlocks: [anAutoBlock()] });
    const unknown = withBlockRules(plain, { state: "Unreachable", problem: "The record can't be read." });
    const observed = { blocklist: ["203.0.113.7"] };
    const plan = planOf({ gathered: unknown, observed, inventory: held });
    expect(plan.operations).toStrictEqual([]);
    expect(plan.kept.map(({ value }) => value)).toStrictEqual(["203.0.113.7"]);
  });
});

describe("exempt from automatic blocks is", () => {
  const network = judged("203.0.113.0/24");
  const story = (exempting: Story): string[] => blocked([network, judged("198.51.100.7")], exempting);

  test.each<[string, Story]>([
    ["what the WafAutoBlock exempts", { exempt: ["203.0.113.9"] }],
    ["what a rule allows", { rules: [aRule("partner", { action: "Allow", addresses: ["203.0.113.9"] })] }],
    ["a wider network that a rule allows", { rules: [aRule("p", { action: "Allow", addresses: ["203.0.112.0/20"] })] }],
    ["what must stay reachable", { neverBlock: ["203.0.113.9"] }],
    ["an origin", { origins: ["203.0.113.9"] }],
  ])("%s, also in a network", (_, exempting) => {
    expect(story(exempting)).toStrictEqual(["198.51.100.7"]);
  });

  test("a special-purpose network", () => {
    expect(blocked([judged("10.0.0.9"), judged("192.168.0.0/24"), judged("fe80::1")])).toStrictEqual([]);
  });

  test.each([
    ["what another writer has put on the WAF's allowlist", { allowlist: ["192.0.2.1", "203.0.113.9", "opaque"] }],
    ["a network on the WAF's allowlist around it", { allowlist: ["203.0.112.0/20"] }],
    ["the current primary origin", { primary: "203.0.113.9" }],
  ])("%s, declared or not", (_, shown) => {
    const state = declared([network, judged("198.51.100.7")]);
    const before = compileDesired(state, nowMs, anInventory(held));
    expect([before.lists.blocklist.size, before.dependsOnManaged]).toStrictEqual([2, true]);
    const { lists, dependsOnManaged } = compileDesired(state, nowMs, anInventory(held), observed(shown));
    expect([[...lists.blocklist.keys()], dependsOnManaged]).toStrictEqual([["198.51.100.7"], true]);
  });

  test("nothing that only a managed entry of the allowlist allows, because it will be removed", () => {
    const managed = anInventory({ ...held, allowlist: ["203.0.113.9"] });
    const { lists } = compileDesired(declared([network]), nowMs, managed, observed({ allowlist: ["203.0.113.9"] }));
    expect([...lists.blocklist.keys()]).toStrictEqual(["203.0.113.0/24"]);
  });

  test.each([
    ["a new block", [], [], 0],
    ["no block that is in the record", held.blocklist ?? [], [], 1],
    ["a block whose removal has begun", held.blocklist ?? [], [entry("203.0.113.7")], 0],
  ])("while the rule of an Allow entry can't be read, it lifts %s", (_, blocklist, pending, left) => {
    const record = anInventory({ blocklist, allowlist: [ownedBy("203.0.113.0/24", ["edge/partner"])] });
    const { allowed } = record;
    const leaving = {
      ...record,
      allowed: { ...allowed, blocklist: { ...allowed.blocklist, pending: new Set(pending) } },
    };
    const state = {
      ...declared([judged("203.0.113.7")]),
      invalidObjects: new Map([["WafIpRule edge/partner", "Odd"]]),
    };
    expect(compileDesired(state, nowMs, leaving).lists.blocklist.size).toBe(left);
    const allowing = aRule("other", { action: "Allow", addresses: ["203.0.113.0/24"] });
    const again = { ...state, rules: [...state.rules, allowing] };
    expect(compileDesired(again, nowMs, leaving).lists.blocklist.size).toBe(0);
  });

  test("nothing that only an expired rule allows", () => {
    const rule = aRule("partner", { action: "Allow", addresses: ["203.0.113.9"], expiresAtMs: nowMs - 1 });
    expect(story({ rules: [rule] })).toHaveLength(2);
  });
});

describe("the automatic block of a guest", () => {
  const grant = aGrant({ kinds: ["WafAutoBlock", "WafIpRule"], actions: ["Block", "Allow"], maxEntries: 2 });

  function guest(entries: JudgedEntry[], rules: readonly GatheredRule[] = [], given = grant, origin?: string) {
    const block = anAutoBlock({ name: "shop/mine" });
    const origins = origin === undefined ? [] : [anOrigin(origin, { name: "shop/mine" })];
    const plain = gathered({ instance: anInstance({ access: [given] }), rules, origins, autoBlocks: [block] });
    return withBlockRules(plain, viewOf(entries, "shop/mine", block.meta.uid));
  }

  test("does nothing without grants for its kind and for Block", () => {
    for (const given of [aGrant({ kinds: ["WafIpRule"] }), aGrant({ kinds: ["WafAutoBlock"], actions: ["Allow"] })]) {
      const { lists, rules } = desiredOf(guest([judged("203.0.113.7")], [], given));
      expect([lists.blocklist.size, rules[0]?.verdict, rules[0]?.isAttached]).toStrictEqual([0, "NotAllowed", false]);
    }
  });

  test("has no more entries, no wider ones and no longer ones than granted", () => {
    const listed = ["203.0.112.0/23", "203.0.113.1", "203.0.113.2", "203.0.113.3"].map((text) => judged(text));
    const entries = [...listed, judged("203.0.113.4", { sinceMs: nowMs - 2 * hourMs })];
    const { lists, rules } = desiredOf(guest(entries, [], { ...grant, maxTtlMs: hourMs }));
    expect([...lists.blocklist.keys()]).toStrictEqual(["203.0.113.1", "203.0.113.2"]);
    expect(rules[0]?.verdict).toBe("InvalidEntries");
  });

  test("is not affected by the guest's origins if it belongs to the owner, so a guest can't unblock its visitors", () => {
    const entries = [judged("203.0.113.7")];
    const state = guest(entries, [], grant, "203.0.113.7");
    expect(desiredOf(state).lists.blocklist.size).toBe(0);
    const owners = anAutoBlock();
    const theirs = { ...gathered(state), rules: [], autoBlocks: [owners] };
    const view = viewOf(entries, "edge/scanners", owners.meta.uid);
    expect([...desiredOf(withBlockRules(theirs, view)).lists.blocklist.keys()]).toStrictEqual(["203.0.113.7"]);
  });

  test("never blocks what the owner allows", () => {
    const owners = aRule("partners", { action: "Allow", addresses: ["203.0.113.0/24"] });
    expect(desiredOf(guest([judged("203.0.113.7")], [owners])).lists.blocklist.size).toBe(0);
  });

  test("yields to earlier Allow entries of another guest, but not to later ones", () => {
    const other = aRule("other/partner", { action: "Allow", addresses: ["203.0.113.7"] });
    const state = guest([judged("203.0.113.7")], [other]);
    const on = (list: "blocklist" | "allowlist") => anInventory({ [list]: ["203.0.113.7"] });
    const before = compileDesired(state, nowMs, on("allowlist"));
    expect([before.lists.blocklist.size, before.lists.allowlist.size]).toStrictEqual([0, 1]);
    const later = compileDesired(state, nowMs, on("blocklist"));
    expect([later.lists.blocklist.size, later.lists.allowlist.size]).toStrictEqual([1, 0]);
    expect(later.dependsOnManaged).toBe(true);
  });
});

test("an owner's block is not affected by a guest's later Allow entry", () => {
  const allow = aRule("shop/partner", { action: "Allow", addresses: ["203.0.113.7"] });
  const plain = gathered({
    instance: anInstance({ access: [aGrant({ actions: ["Allow"] })] }),
    rules: [allow],
    autoBlocks: [anAutoBlock()],
  });
  const state = withBlockRules(plain, viewOf([judged("203.0.113.7")]));
  const later = compileDesired(state, nowMs, anInventory(held));
  expect([later.lists.blocklist.size, later.lists.allowlist.size]).toStrictEqual([1, 0]);
});
