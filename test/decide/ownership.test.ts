import { describe, expect, test } from "@jest/globals";
import { readOwners, writeOwners } from "../../src/model/rule-id.ts";
import { operationKey } from "../../src/model/operation.ts";
import { addresses, anInstance, blocking } from "../support/builders/declare.ts";
import { entry, nowMs, ownedBy, planOf, recorded, type Situation, anOwnedEntry } from "../support/builders/gathered.ts";
import type { OwnedEntry } from "../../src/model/inventory.ts";

const one = "192.0.2.1";
const adopt = { meta: { annotations: { "wafsync.dev/adopt": "true" } } };
const retain = { deletionPolicy: "Retain" } as const;

function outcome(situation: Situation): { operations: string[]; owned: Record<string, string | undefined> } {
  const plan = planOf(situation);
  const owned = [...plan.inventory.entries.blocklist].map(([text, { retainedBy }]) => [text, retainedBy] as const);
  return { operations: plan.operations.map(operationKey), owned: Object.fromEntries(owned) };
}

describe("An entry", () => {
  test("that no rule declares any longer is removed in every spelling that the list shows", () => {
    const situation = { observed: { blocklist: [`${one}/32`, "192.0.2.9", one] }, inventory: { blocklist: [one] } };
    expect(outcome(situation)).toStrictEqual({
      operations: [`blocklist -${one}/32`, `blocklist -${one}`],
      owned: { [one]: undefined },
    });
  });

  describe("that is missing on the list and declared by no rule", () => {
    const missing = { ...anOwnedEntry(), missingSinceMs: nowMs };
    const record = (of: Partial<OwnedEntry>): object => ({
      entries: { blocklist: new Map([[entry(one), { ...anOwnedEntry(), ...of }]]), allowlist: new Map() },
    });
    const later = (byMs: number, readByMs = byMs) => ({
      nowMs: nowMs + byMs,
      observed: { readAtMs: nowMs + readByMs },
    });
    const recordAfter = (situation: Situation) => {
      const { inventory, lookAgainMs } = planOf(situation);
      return { record: inventory.entries.blocklist.get(entry(one)), lookAgainMs };
    };

    test("stays managed after one read without it, since a list may be older than the last write", () => {
      const first = { record: missing, lookAgainMs: nowMs + 5_000 };
      expect(recordAfter({ inventory: { blocklist: [one] } })).toStrictEqual(first);
    });

    test("is dropped by a read after the consistency window, and not by planning again later", () => {
      const inventory = record(missing);
      expect(recordAfter({ inventory, ...later(4_999) })).toStrictEqual({
        record: missing,
        lookAgainMs: nowMs + 5_000,
      });
      expect(recordAfter({ inventory, ...later(60_000, 4_999) }).record).toStrictEqual(missing);
      expect(recordAfter({ inventory, ...later(5_000) })).toStrictEqual({ record: undefined, lookAgainMs: undefined });
    });

    test("is not dropped by the read that first missed it, if the clock was set back since", () => {
      const first = recordAfter({ inventory: { blocklist: [one] }, ...later(0, 484_000) }).record;
      expect(recordAfter({ inventory: record({ ...first }), ...later(0, 484_000) }).record).toStrictEqual(first);
      expect(recordAfter({ inventory: record({ ...first }), ...later(6_000) }).record).toStrictEqual({
        ...first,
        missingSinceMs: nowMs + 6_000,
      });
      const second = record({ ...first, missingSinceMs: nowMs + 6_000 });
      expect(recordAfter({ inventory: second, ...later(11_000) }).record).toBe(undefined);
    });

    test("is removed if it reappears within the window, and the next read without it counts as the first one", () => {
      const at = later(3_000);
      const shown = { inventory: record(missing), ...at, observed: { ...at.observed, blocklist: [one] } };
      expect(outcome(shown).operations).toStrictEqual([`blocklist -${one}`]);
      expect(recordAfter(shown)).toStrictEqual({ record: anOwnedEntry(), lookAgainMs: undefined });
    });

    test("is no longer missing once the same rule declares it again", () => {
      const rules = [blocking("a", [one])];
      const before = planOf({ gathered: { rules } }).inventory.entries.blocklist.get(entry(one));
      if (before === undefined) throw new Error("the entry is not recorded");
      const again = { inventory: record({ ...before, missingSinceMs: nowMs }), ...later(60_000) };
      // It is a new block, so it is managed from now on.
      const after = planOf({ gathered: { rules }, ...again }).inventory.entries.blocklist.get(entry(one));
      expect(after).toStrictEqual({ ...before, sinceMs: nowMs + 60_000 });
    });

    test("is dropped immediately if configured so, and counts from now if the clock was set back", () => {
      const instance = anInstance({ consistencyWindowMs: 0 });
      expect(recordAfter({ gathered: { instance }, inventory: { blocklist: [one] } }).record).toBeUndefined();
      const ahead = record({ missingSinceMs: nowMs + 3_600_000 });
      expect(recordAfter({ inventory: ahead }).record).toStrictEqual(missing);
    });
  });
});

test("Any number of entries can be missing at once", () => {
  const blocklist = addresses(131_000);
  const { lookAgainMs } = planOf({ inventory: { blocklist } });
  expect(lookAgainMs).toBe(nowMs + 5_000);
});

describe("The owners of an entry", () => {
  const rows = (situation: Situation) =>
    [...planOf(situation).inventory.entries.blocklist].map(([text, { owners, sinceMs, manner }]) => [
      text,
      readOwners(owners).map(({ name, source }) => (source === undefined ? name : `${name} ${source}`)),
      sinceMs,
      manner,
    ]);

  test("are the rules that declare it, each with its source and the time of the record", () => {
    const list = "ConfigMap edge/list-0, key list";
    const rules = [
      blocking("a", [one], { texts: ["192.0.2.2\n192.0.2.3\n"] }),
      blocking("b", [one, "192.0.2.3"], { texts: ["192.0.2.9\n"] }),
    ];
    expect(rows({ gathered: { rules } })).toStrictEqual([
      [one, ["edge/a", "edge/b"], nowMs, "Added"],
      ["192.0.2.2", [`edge/a ${list}`], nowMs, "Added"],
      ["192.0.2.3", [`edge/a ${list}`, "edge/b"], nowMs, "Added"],
      ["192.0.2.9", [`edge/b ${list}`], nowMs, "Added"],
    ]);
  });

  test("of an adopted entry are recorded with its adoption", () => {
    const situation = { gathered: { rules: [blocking("a", [one], adopt)] }, observed: { blocklist: [one] } };
    expect(rows(situation)).toStrictEqual([[one, ["edge/a"], nowMs, "Adopted"]]);
  });

  test("change without a call, and keep the time", () => {
    const plan = planOf(recorded([ownedBy(one, ["edge/a"])], { rules: [blocking("b", [one])] }));
    expect(plan).toMatchObject({ operations: [], onlyOwnersChanged: true });
    const owners = writeOwners([{ kind: "WafIpRule", name: "edge/b", source: undefined }]);
    expect([...plan.inventory.entries.blocklist.values()]).toStrictEqual([anOwnedEntry({ owners })]);
  });

  test("remain the last ones while no rule declares the entry", () => {
    expect(rows(recorded([ownedBy(one, ["edge/a"])]))).toStrictEqual([[one, ["edge/a"], undefined, "Added"]]);
  });

  test("are one object for all entries that the same rules declare", () => {
    const plan = planOf({ gathered: { rules: [blocking("a", [one, "192.0.2.2"]), blocking("b", [one])] } });
    const more = planOf({ gathered: { rules: [blocking("a", addresses(50)), blocking("b", addresses(50, 25))] } });
    expect(new Set(plan.inventory.entries.blocklist.values()).size).toBe(2);
    expect(new Set(more.inventory.entries.blocklist.values()).size).toBe(3);
  });
});

describe("deletionPolicy Retain", () => {
  const kept = [one, "edge/a"] as const;

  test("is recorded while the rule exists, and dropped when the rule no longer has it", () => {
    expect(outcome(recorded([one], { rules: [blocking("a", [one], retain)] })).owned).toStrictEqual({
      [one]: "edge/a",
    });
    expect(outcome(recorded([kept], { rules: [blocking("a", [one])] })).owned).toStrictEqual({ [one]: undefined });
  });

  test("records all rules that retain an entry, and keeps the entry as soon as one of them is deleted", () => {
    const [a, b, c] = [blocking("a", [one], retain), blocking("b", [one]), blocking("c", [one], retain)];
    const first = outcome(recorded([one], { rules: [c, b, a] }));
    expect(first).toStrictEqual({ operations: [], owned: { [one]: "edge/a,edge/c" } });
    const both = [one, "edge/a,edge/c"] as const;
    for (const rules of [[c, b], [a, b], [b], []])
      expect(outcome(recorded([both], { rules }))).toStrictEqual({ operations: [], owned: {} });
    const rules = [blocking("a", ["192.0.2.2"], retain), blocking("c", ["192.0.2.2"], retain)];
    expect(outcome(recorded([both], { rules })).operations).toContain(`blocklist -${one}`);
  });

  test("is not forgotten while the rule may only be unreadable, also if another rule declares the entry", () => {
    for (const rules of [[], [blocking("b", [one])]]) {
      const broken = { rules, brokenSources: ["a.yaml can't be read."] };
      expect(outcome(recorded([kept], broken))).toStrictEqual({ operations: [], owned: { [one]: "edge/a" } });
    }
  });

  test("adds a missing entry again for the rule that still declares it, which then manages it", () => {
    const situation = { inventory: { blocklist: [kept] }, gathered: { rules: [blocking("b", [one])] } };
    expect(outcome(situation)).toStrictEqual({ operations: [`blocklist +${one}`], owned: { [one]: undefined } });
  });

  test("also keeps it while the rule is being deleted", () => {
    const rules = [blocking("a", [one], { ...retain, meta: { deleting: true } })];
    expect(outcome(recorded([kept], { rules }))).toStrictEqual({ operations: [], owned: {} });
  });

  test("does not keep an entry that is removed from the rule", () => {
    const rules = [blocking("a", ["192.0.2.2"], retain)];
    expect(outcome(recorded([kept, ["192.0.2.2", "edge/a"]], { rules })).operations).toStrictEqual([
      `blocklist -${one}`,
    ]);
  });
});

test("The policy Exclusive removes all undeclared entries, whoever added them, including opaque ones", () => {
  const gathered = { instance: anInstance({ policies: { blocklist: "Exclusive" } }), rules: [blocking("a", [one])] };
  expect(outcome({ gathered, observed: { blocklist: [one, "192.0.2.9", "nonsense"] } })).toStrictEqual({
    operations: ["blocklist -192.0.2.9", "blocklist -nonsense"],
    owned: {},
  });
});

test("The policy Observe plans and records nothing, but shows the prevented operations", () => {
  const instance = anInstance({ policies: { blocklist: "Observe" } });
  const plan = planOf(recorded(["192.0.2.9"], { instance, rules: [blocking("a", [one], adopt)] }));
  expect(plan.operations).toStrictEqual([]);
  expect(plan.observedOnly.map(operationKey)).toStrictEqual([`blocklist +${one}`, "blocklist -192.0.2.9"]);
  const counts = { live: 1, managed: 1, foreign: 0, pending: 0, held: 0, overflow: 0 };
  expect(plan.lists.blocklist).toStrictEqual(counts);
  expect([...plan.inventory.entries.blocklist.keys()]).toStrictEqual([entry("192.0.2.9")]);
});
