import { describe, expect, test } from "@jest/globals";
import { type Dispute, emptyInventory, type Refusal } from "../../src/model/inventory.ts";
import { contestedNow, disputesMax, noteDisputes } from "../../src/decide/disputes.ts";
import { ApiKey } from "../../src/model/api-key.ts";
import { decideDomain, otherDomainsMax } from "../../src/decide/domain.ts";
import { findDrift } from "../../src/decide/disputes.ts";
import { versionOf, withRefusal } from "../../src/decide/ownership.ts";
import { addresses, anInstance, aRule, blocking } from "../support/builders/declare.ts";
import {
  anInventory,
  desiredOf,
  entry,
  nowMs,
  observed,
  operationsOf,
  planOf,
  testKey,
  planInstance,
} from "../support/builders/gathered.ts";

const one = entry("192.0.2.1");
const minuteMs = 60_000;

function disputedAt(minutes: readonly number[]): readonly Dispute[] {
  let disputes: readonly Dispute[] = [];
  for (const minute of minutes)
    disputes = noteDisputes(disputes, [{ list: "blocklist", entry: one }], nowMs + minute * minuteMs);
  return disputes;
}

function manyFound(count: number) {
  return addresses(count).map((text) => ({ list: "blocklist" as const, entry: entry(text) }));
}

/** For how many minutes after the last correction the entry is not corrected. */
function pauseMinutes(minutes: readonly number[]): number {
  const disputes = disputedAt(minutes);
  const last = nowMs + (minutes.at(-1) ?? 0) * minuteMs;
  const untilMs = contestedNow(disputes, last).blocklist.get(one);
  return untilMs === undefined ? 0 : (untilMs - last) / minuteMs;
}

describe("A dispute", () => {
  test("begins with the fourth correction", () => {
    expect(pauseMinutes([0, 5, 10])).toBe(0);
    expect(pauseMinutes([0, 5, 10, 15])).toBe(5);
  });

  test("grows with each further correction, up to four hours", () => {
    expect(pauseMinutes([0, 5, 10, 15, 20])).toBe(10);
    expect(pauseMinutes([0, 5, 10, 15, 20, 30])).toBe(20);
    expect(pauseMinutes([0, 5, 10, 15, 20, 30, 50, 90, 170, 330])).toBe(240);
  });

  test("ends after a long time without corrections", () => {
    expect(pauseMinutes([0, 5, 10, 15, 20, 400])).toBe(0);
    expect(noteDisputes(disputedAt([0, 5]), [], nowMs + 5 * minuteMs + 5 * 3_600_000)).toStrictEqual([]);
  });

  test("costs no write of the inventory while nothing is recorded", () => {
    const disputes = disputedAt([0, 5]);
    expect(noteDisputes(disputes, [], nowMs + 10 * minuteMs)).toBe(disputes);
  });

  test("records a limited number of entries, the newest among equal ones", () => {
    const disputes = noteDisputes(disputedAt([-1]), manyFound(disputesMax + 200), nowMs);
    expect(disputes).toHaveLength(disputesMax);
    expect(disputes.some((dispute) => dispute.entry === one)).toBe(false);
  });

  test("that continues keeps its place beyond this limit, whatever happens to other entries", () => {
    const found = manyFound(disputesMax + 200);
    let disputes = disputedAt([-4, -3, -2, -1]);
    for (let minute = 0; minute < 4; minute += 1) {
      disputes = noteDisputes(disputes, found, nowMs + minute * minuteMs);
    }
    const { blocklist } = contestedNow(disputes, nowMs + 3 * minuteMs);
    expect(blocklist.size).toBe(disputesMax);
    expect(blocklist.has(one)).toBe(true);
  });

  test("prevents additions and removals of its entry only", () => {
    const disputes = disputedAt([-15, -10, -5, 0]);
    const adding = { gathered: { rules: [blocking("a", [one, "192.0.2.2"])] }, inventory: { disputes } };
    expect(operationsOf(adding)).toStrictEqual(["blocklist +192.0.2.2"]);
    const outcome = { kind: "Contested", untilMs: nowMs + 5 * minuteMs };
    expect(planOf(adding).outcomes.blocklist[0]).toMatchObject({ entry: one, outcome });
  });
});

test("A pause for a contested entry does not count corrections from before the clock was set back", () => {
  const disputes = disputedAt([-15, -10, -5, 0]);
  const earlier = nowMs - 120 * minuteMs;
  const situation = { gathered: { rules: [blocking("a", [one])] }, inventory: { disputes }, nowMs: earlier };
  expect(planOf(situation).outcomes.blocklist).toMatchObject([{ outcome: { kind: "Add" } }]);
  const noted = noteDisputes(disputes, [{ list: "blocklist", entry: one }], earlier);
  expect(noted.map(({ atMs }) => atMs)).toStrictEqual([[earlier]]);
});

describe("A refusal", () => {
  const rule = blocking("a", [one, "192.0.2.2"]);
  const refusal: Refusal = {
    operation: `blocklist +${one}`,
    message: "No.",
    refusedAtMs: nowMs,
    wantedBy: versionOf(rule.rule),
  };

  test("applies for an hour, and is then dropped, or when the clock is set back", () => {
    const at = (atMs: number) => ({ gathered: { rules: [rule] }, inventory: { refusals: [refusal] }, nowMs: atMs });
    expect(operationsOf(at(nowMs + 3_599_999))).toStrictEqual(["blocklist +192.0.2.2"]);
    const { blocklist } = planOf(at(nowMs)).outcomes;
    expect(blocklist.flatMap(({ outcome }) => outcome.refusals ?? [])).toStrictEqual([refusal]);
    for (const later of [nowMs + 3_600_000, nowMs - 7_200_000]) {
      const { operations, inventory } = planOf(at(later));
      expect([operations.length, inventory.refusals]).toStrictEqual([2, []]);
    }
  });

  test("ends when the rule changes, or another rule declares the entry too", () => {
    const changed = blocking("a", [one], { meta: { generation: 2 } });
    for (const rules of [[changed], [rule, blocking("b", [one])]])
      expect(operationsOf({ gathered: { rules }, inventory: { refusals: [refusal] } })).toContain(`blocklist +${one}`);
  });

  test("distinguishes versions by content if there is no UID", () => {
    const at = (addresses: string[]) => versionOf(aRule("a", { addresses, meta: { uid: "" } }).rule);
    expect(at(["192.0.2.1"])).toBe(at(["192.0.2.1"]));
    expect(at(["192.0.2.1"])).not.toBe(at(["192.0.2.2"]));
  });

  test("replaces an earlier one of the same operation, and the oldest beyond 2,000 leave the inventory", () => {
    const again = { ...refusal, message: "Still no." };
    expect(withRefusal([refusal], again)).toStrictEqual([again]);
    let refusals: readonly Refusal[] = [refusal];
    for (let index = 0; index < 2_000; index += 1)
      refusals = withRefusal(refusals, { ...refusal, operation: `blocklist +${index}` });
    expect(refusals).toHaveLength(2_000);
    expect(refusals[0]?.operation).toBe("blocklist +0");
  });
});

describe("The domain", () => {
  const key = new ApiKey(testKey);
  const otherKey = new ApiKey("another-key-of-the-tests");
  const inventory = anInventory({
    blocklist: [one],
    handledTriggers: [{ cacheClear: "edge/c", trigger: "1", handledAtMs: 1 }],
    approvals: 3,
    allowed: { ...emptyInventory.allowed, blocklist: { pending: new Set(), count: 1, sinceMs: 1 } },
  });
  /** What is decided if the WAF shows this domain, and the instance expects that one. */
  const decided = (shown: string, expectedDomain: string | undefined, before = inventory, by = key) =>
    decideDomain(anInstance({ expectedDomain }), before, shown, by);

  test("is recorded at the first sync", () => {
    const first = decided("shop.example", undefined, anInventory({ domain: undefined }));
    expect(first).toMatchObject({ state: "Known", inventory: { domain: "shop.example" } });
  });

  test("is compared case-insensitively, and causes no write while it is unchanged", () => {
    const same = decided("SHOP.example", "Shop.example");
    expect(same).toStrictEqual({ state: "Known", inventory, told: undefined });
  });

  test("that changes stops everything, until expectedDomain is set to the new one", () => {
    expect(decided("other.example", undefined).state).toBe("Changed");
    expect(decided("other.example", "shop.example").state).toBe("Changed");
    const decision = decided("other.example", "other.example", inventory, otherKey);
    // A used approval never acts again, and the guards' window continues.
    const { allowed } = inventory;
    const kept = { domain: "other.example", handledTriggers: [{ trigger: "1" }], approvals: 3, allowed };
    expect(decision).toMatchObject({ state: "Known", inventory: kept });
    expect(decision.state === "Known" && decision.inventory.entries.blocklist.size).toBe(0);
  });

  test("of another WAF has a separate record, and the former one is found again", () => {
    const away = decided("other.example", "other.example", inventory, otherKey);
    const told = expect.stringContaining("The 1 managed entry or origin on the WAF of shop.example");
    expect(away).toMatchObject({ told });
    const there = away.state === "Known" ? away.inventory : inventory;
    expect([...(there.otherDomains.get("shop.example")?.entries.blocklist.keys() ?? [])]).toStrictEqual([one]);
    const back = decided("shop.example", "shop.example", there);
    expect(back).toMatchObject({ inventory: { domain: "shop.example", waf: inventory.waf } });
    expect(back.state === "Known" && back.inventory.entries).toStrictEqual(inventory.entries);
    expect(back.state === "Known" && back.inventory.otherDomains.size).toBe(0);
  });

  test("that the WAF itself changed keeps the record: the API key is the recorded one", () => {
    expect(decided("new.example", "new.example")).toMatchObject({
      inventory: { domain: "new.example", waf: { keyMark: key.markFor("new.example") }, entries: inventory.entries },
      told: expect.stringContaining("changed from shop.example to new.example"),
    });
  });

  test("is one of a limited number: beyond it, nothing is dropped, and a message says what to do", () => {
    const { entries, origins } = inventory;
    const others = Array.from(
      { length: otherDomainsMax },
      (_, index) => [`d${index}.example`, { entries, origins }] as const,
    );
    const full = { ...inventory, otherDomains: new Map(others) };
    const message = expect.stringContaining("declare another WafInstance");
    expect(decided("other.example", "other.example", full, otherKey)).toMatchObject({ state: "Changed", message });
  });
});

describe("Drift", () => {
  const exclusive = anInstance({ policies: { blocklist: "Exclusive" } });
  const rules = [blocking("a", [one, "192.0.2.2"])];

  /** What another writer did since the last read, to a list that now shows `texts`. */
  function driftOf(
    seen: readonly string[],
    texts: readonly string[],
    declared: Parameters<typeof desiredOf>[0] = {},
    inventory = anInventory(),
  ) {
    const desired = desiredOf(declared);
    const plan = planInstance({ desired, observed: observed({ blocklist: texts }), inventory, nowMs });
    return findDrift(desired.instance, plan, observed({ blocklist: seen }));
  }

  test("is a declared entry that was on the list and is missing", () => {
    const vanished = { list: "blocklist", entry: one, change: "Vanished" };
    expect(driftOf([one, "192.0.2.9"], [], { rules })).toStrictEqual([vanished]);
    expect(driftOf([], [], { rules })).toStrictEqual([]);
  });

  test("with Exclusive, includes undeclared entries that were not on the list", () => {
    const appeared = { list: "blocklist", entry: one, change: "Appeared" };
    expect(driftOf([], [one], { instance: exclusive })).toStrictEqual([appeared]);
    expect(driftOf([one], [one], { instance: exclusive })).toStrictEqual([]);
    expect(driftOf([], [one])).toStrictEqual([]);
    // A late write of wafsync.
    const recorded = anInventory({ blocklist: [one] });
    expect(driftOf([], [one], { instance: exclusive }, recorded)).toStrictEqual([]);
    // Somebody was faster than the second read that forgets it.
    const blocklist = new Map(
      [...recorded.entries.blocklist].map(([entry, of]) => [entry, { ...of, missingSinceMs: 1 }]),
    );
    const missed = { ...recorded, entries: { ...recorded.entries, blocklist } };
    expect(driftOf([], [one], { instance: exclusive }, missed)).toStrictEqual([appeared]);
  });

  test.each([
    ["the instance is suspended", anInstance({ suspend: true })],
    ["the policy is Observe", anInstance({ policies: { blocklist: "Observe" } })],
  ])("is nothing while %s", (_, instance) => {
    expect(driftOf([one], [], { rules, instance })).toStrictEqual([]);
  });
});
