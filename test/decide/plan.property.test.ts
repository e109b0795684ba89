import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { type ListName, listNames, type ListPolicy, type OriginType } from "../../src/model/declared.ts";
import type { Entry } from "../../src/address/entry.ts";
import { NetworkIndex } from "../../src/address/ranges.ts";
import type { Gathered } from "../../src/model/gathered.ts";
import type { Inventory, OwnedOrigin } from "../../src/model/inventory.ts";
import { compileDesired, type DesiredState } from "../../src/decide/desired.ts";
import type { Observed } from "../../src/model/observed.ts";
import type { Plan } from "../../src/decide/plan.ts";
import { anInstance, anOrigin, aRule, createdMs } from "../support/builders/declare.ts";
import {
  anInventory,
  gathered,
  nowMs,
  observed,
  anOwnedOrigin,
  listsAfter,
  planInstance,
} from "../support/builders/gathered.ts";
import { caseCount } from "../support/builders/case-count.ts";

/** Few strings, so that rules, lists and inventory overlap; including nested networks and different spellings. */
const declaredTexts = [
  "198.18.0.0/16",
  "198.18.1.0/24",
  "198.18.1.0",
  "198.18.1.1",
  "198.18.1.2",
  "192.0.2.1",
  "192.0.2.0/24",
  "2001:db8::/32",
  "2001:db8::1",
];
const shownTexts = [...declaredTexts, "192.0.2.1/32", "198.18.2.3/16", "2001:DB8::1", "203.0.113.9", "nonsense"];
const hosts = ["a.example", "b.example", "192.0.2.1", "primary.example"];
const originType = fc.constantFrom<OriginType>("Alternate", "Backup");
const optionally = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined });

const rules = fc
  .array(
    fc.record({
      action: fc.constantFrom("Block" as const, "Allow" as const),
      addresses: fc.subarray([...declaredTexts, "nonsense"], { maxLength: 5 }),
      priority: fc.constantFrom(0, 0, 5),
      ageMs: fc.constantFrom(0, 0, 1, 2),
      deletionPolicy: fc.constantFrom("Delete" as const, "Retain" as const),
      isOver: fc.constantFrom(false, false, false, true),
      adopts: fc.constantFrom(false, false, true),
      merges: fc.boolean(),
      except: fc.constantFrom([], [], ["198.18.1.2"], ["192.0.2.0/25", "198.18.1.0/30"]),
    }),
    { maxLength: 5 },
  )
  .map((drafts) =>
    drafts.map(({ ageMs, isOver, adopts, merges, ...draft }, index) =>
      aRule(`rule-${index}`, {
        ...draft,
        // What a rule adopts depends on the lists.
        aggregate: merges && !adopts,
        expiresAtMs: isOver ? nowMs - 1 : undefined,
        meta: { createdAtMs: createdMs - ageMs, annotations: adopts ? { "wafsync.dev/adopt": "true" } : {} },
      }),
    ),
  );

const origins = fc
  .array(fc.record({ host: fc.constantFrom(...hosts), type: originType, retain: fc.boolean() }), { maxLength: 4 })
  .map((drafts) =>
    drafts.map(({ host, type, retain }, index) =>
      anOrigin(host, { name: `origin-${index}`, type, deletionPolicy: retain ? "Retain" : "Delete" }),
    ),
  );

const ownedOrigin: fc.Arbitrary<OwnedOrigin> = fc
  .record({
    type: originType,
    addedAtMs: optionally(fc.constant(1)),
    retainedBy: optionally(fc.constantFrom("edge/origin-0", "edge/gone")),
  })
  .map(anOwnedOrigin);

interface World {
  readonly gathered: Gathered;
  readonly observed: Observed;
  readonly inventory: Inventory;
}

function worlds(policies: readonly ListPolicy[], brokenSources = false): fc.Arbitrary<World> {
  const owned = fc
    .subarray([...declaredTexts, "203.0.113.9"])
    .chain((texts) =>
      fc.tuple(
        ...texts.map((text) => fc.constantFrom(text, [text, "edge/rule-0"] as const, [text, "edge/gone"] as const)),
      ),
    );
  return fc
    .record({
      rules,
      origins,
      blocklist: fc.constantFrom(...policies),
      allowlist: fc.constantFrom(...policies),
      shown: fc.tuple(fc.subarray(shownTexts), fc.subarray(shownTexts)),
      owned: fc.tuple(owned, owned),
      ownedOrigins: fc.dictionary(fc.constantFrom(...hosts), ownedOrigin, { maxKeys: 3, noNullPrototype: true }),
      primary: fc.constantFrom("primary.example", "a.example"),
      broken: brokenSources ? fc.constantFrom([], ["a.yaml can't be read."]) : fc.constant([]),
    })
    .map((draft) => ({
      gathered: gathered({
        instance: anInstance({
          policies: { blocklist: draft.blocklist, allowlist: draft.allowlist },
          guards: { maxRemovals: 1_000, maxRemovalPercent: 100, neverBlock: ["198.18.1.2"] },
        }),
        rules: draft.rules,
        origins: draft.origins,
        brokenSources: draft.broken,
      }),
      observed: observed({ blocklist: draft.shown[0], allowlist: draft.shown[1], primary: draft.primary }),
      inventory: anInventory({ blocklist: draft.owned[0], allowlist: draft.owned[1], origins: draft.ownedOrigins }),
    }));
}

const writing = ["Additive", "Exclusive"] as const;

/** The record and the lists also decide conflicts, so a plan that changes them may be followed by another: only what is broken needs them. */
function desiredIn({ gathered, inventory }: World): DesiredState {
  return compileDesired(gathered, nowMs, gathered.brokenSources.length > 0 ? inventory : undefined);
}

function planned(world: World): Plan {
  return planInstance({ ...world, desired: desiredIn(world), nowMs });
}

/** The state after all operations of its plan. */
function carriedOut(world: World, { operations, inventory }: Plan): World {
  const lists = listsAfter(world.observed.lists, operations);
  const origins = new Map(inventory.origins);
  for (const operation of operations) {
    if (operation.kind === "RemoveOrigin") origins.delete(operation.host);
    if (operation.kind !== "AddOrigin") continue;
    origins.set(operation.host, { ...origins.get(operation.host)!, type: operation.type, addedAtMs: nowMs });
  }
  return { ...world, observed: { ...world.observed, lists }, inventory: { ...inventory, origins } };
}

/** The lists after each operation of a plan. No entry is added twice, and the WAF shows each spelling that is removed. */
function* steps({ observed: { lists } }: World, { operations }: Plan): Generator<Observed["lists"]> {
  let seen = lists;
  for (const operation of operations) {
    if (operation.kind === "AddEntry") expect(seen[operation.list].has(operation.entry)).toBe(false);
    if (operation.kind === "RemoveEntry")
      expect(seen[operation.list].get(operation.entry)).toContain(operation.spelling);
    seen = listsAfter(seen, [operation]);
    yield seen;
  }
}

describe("A plan, whatever is declared, shown and owned,", () => {
  test("leaves nothing to do for lists after one run, and for origins after two", () => {
    fc.assert(
      fc.property(worlds(writing), (world) => {
        const after = carriedOut(world, planned(world));
        const second = planned(after);
        expect(second.operations.filter(({ kind }) => kind === "AddEntry" || kind === "RemoveEntry")).toStrictEqual([]);
        const settled = carriedOut(after, second);
        const third = planned(settled);
        expect(third.operations).toStrictEqual([]);
        expect(planned({ ...settled, inventory: third.inventory }).inventory).toBe(third.inventory);
      }),
      { numRuns: caseCount(1_000) },
    );
  });

  test("never removes declared entries or, with Additive, unmanaged ones", () => {
    fc.assert(
      fc.property(worlds(["Additive", "Exclusive", "Observe"], true), (world) => {
        const desired = desiredIn(world);
        for (const operation of planned(world).operations) {
          if (operation.kind === "RemoveOrigin") expect(operation.host).not.toBe(world.observed.primaryOrigin);
          if (operation.kind !== "RemoveEntry") continue;
          const { list } = operation;
          expect(desired.lists[list].has(operation.entry)).toBe(false);
          expect(world.gathered.brokenSources).toStrictEqual([]);
          const policy = world.gathered.instance.policies[list];
          expect(policy).not.toBe("Observe");
          if (policy === "Additive") expect(world.inventory.entries[list].has(operation.entry)).toBe(true);
        }
      }),
      { numRuns: caseCount(1_000) },
    );
  });

  test("records each entry before it adds it, and no other new entries except adopted ones", () => {
    fc.assert(
      fc.property(worlds(["Additive", "Exclusive", "Observe"], true), (world) => {
        const plan = planned(world);
        const adopting = desiredIn(world).rules.filter(
          ({ rule }) => rule.meta.annotations["wafsync.dev/adopt"] === "true",
        );
        const adopted = new Set(adopting.flatMap(({ entries }) => [...entries]));
        for (const list of listNames) {
          const added = new Set(
            plan.operations.flatMap((one) => (one.kind === "AddEntry" && one.list === list ? [one.entry] : [])),
          );
          for (const one of added) expect(plan.inventory.entries[list].has(one)).toBe(true);
          for (const one of plan.inventory.entries[list].keys()) {
            expect(world.inventory.entries[list].has(one) || added.has(one) || adopted.has(one)).toBe(true);
          }
        }
      }),
      { numRuns: caseCount(500) },
    );
  });

  test("does not depend on the order of its inputs", () => {
    fc.assert(
      fc.property(worlds(writing), fc.infiniteStream(fc.nat()), (world, numbers) => {
        const shuffled = <T>(items: readonly T[]): T[] => {
          const keyed = items.map((item) => [numbers.next().value, item] as const);
          return keyed.toSorted((a, b) => a[0] - b[0]).map(([, item]) => item);
        };
        const shuffledMap = <K, V>(map: ReadonlyMap<K, V>): Map<K, V> => new Map(shuffled([...map]));
        const shuffledLists = <V>({ blocklist, allowlist }: Readonly<Record<ListName, ReadonlyMap<Entry, V>>>) => {
          return { blocklist: shuffledMap(blocklist), allowlist: shuffledMap(allowlist) };
        };
        const { gathered, observed, inventory } = world;
        const [entries, ownedOrigins] = [shuffledLists(inventory.entries), shuffledMap(inventory.origins)];
        const other: World = {
          gathered: { ...gathered, rules: shuffled(gathered.rules), origins: shuffled(gathered.origins) },
          observed: { ...observed, lists: shuffledLists(observed.lists) },
          inventory: { ...inventory, entries, origins: ownedOrigins },
        };
        const [one, two] = [planned(world), planned(other)];
        expect(two.operations).toStrictEqual(one.operations);
        expect(two.inventory).toStrictEqual(one.inventory);
        expect(two.lists).toStrictEqual(one.lists);
      }),
      { numRuns: caseCount(500) },
    );
  });

  test("protects at each step the addresses that are protected both before and after", () => {
    fc.assert(
      fc.property(worlds(writing), (world) => {
        const plan = planned(world);
        const before = world.observed.lists;
        const after = carriedOut(world, plan).observed.lists;
        for (const seen of steps(world, plan)) {
          for (const list of listNames) {
            for (const one of before[list].keys()) if (after[list].has(one)) expect(seen[list].has(one)).toBe(true);
          }
        }
        const kinds = plan.operations.map(({ kind }) => kind);
        const firstRemoval = kinds.indexOf("RemoveEntry");
        if (firstRemoval !== -1) expect(kinds.lastIndexOf("AddEntry")).toBeLessThan(firstRemoval);
      }),
      { numRuns: caseCount(300) },
    );
  });

  test("never uncovers a declared entry that the list covered before", () => {
    fc.assert(
      fc.property(worlds(writing), (world) => {
        const { lists } = desiredIn(world);
        const plan = planned(world);
        const covered = (seen: Observed["lists"], list: ListName): readonly Entry[] => {
          const index = new NetworkIndex(seen[list].keys());
          return [...lists[list].keys()].filter((one) => index.containing(one) !== undefined);
        };
        for (const seen of steps(world, plan)) {
          for (const list of listNames)
            expect(covered(seen, list)).toStrictEqual(expect.arrayContaining([...covered(world.observed.lists, list)]));
        }
      }),
      { numRuns: caseCount(1_000) },
    );
  });

  test("puts each exception in front of every block that it overlaps", () => {
    fc.assert(
      fc.property(worlds(writing), (world) => {
        const adds = planned(world).operations.flatMap((operation) =>
          operation.kind === "AddEntry" ? [operation] : [],
        );
        for (const [place, block] of adds.entries()) {
          if (block.list !== "blocklist") continue;
          const index = new NetworkIndex([block.entry]);
          const late = adds.slice(place).filter((add) => add.list === "allowlist" && index.overlaps(add.entry));
          expect(late).toStrictEqual([]);
        }
      }),
      { numRuns: caseCount(500) },
    );
  });
});
