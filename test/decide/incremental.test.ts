// An incremental plan of the changes since the last plan equals a plan made from scratch, and processes only the changes.
import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import type { Entry } from "../../src/address/entry.ts";
import { observeSpellings } from "../../src/model/observe-spellings.ts";
import type { DeclaredInstance } from "../../src/model/declared.ts";
import type { GatheredRule } from "../../src/model/gathered.ts";
import type { Inventory } from "../../src/model/inventory.ts";
import type { Observed, ObservedEntries } from "../../src/model/observed.ts";
import { compileDesired } from "../../src/decide/desired.ts";
import type { Plan } from "../../src/decide/plan.ts";
import { planInstance } from "../../src/decide/plan.ts";
import { caseCount } from "../support/builders/case-count.ts";
import { addresses, anInstance, aRule } from "../support/builders/declare.ts";
import { anInventory, gathered, nowMs, observed } from "../support/builders/gathered.ts";

interface World {
  readonly instance: DeclaredInstance;
  readonly rules: readonly GatheredRule[];
  readonly observed: Observed;
  readonly inventory: Inventory;
}

function planned({ instance, rules, observed: shown, inventory }: World): Plan {
  const desired = compileDesired(gathered({ instance, rules }), nowMs);
  return planInstance({ desired, observed: shown, inventory, nowMs });
}

/** The same input without any cached results. */
function forgotten({ instance, rules, observed: shown, inventory }: World): World {
  const { lists } = shown;
  return {
    instance: structuredClone(instance),
    rules: structuredClone(rules),
    observed: { ...shown, lists: { blocklist: new Map(lists.blocklist), allowlist: new Map(lists.allowlist) } },
    inventory: {
      ...inventory,
      entries: {
        blocklist: new Map(inventory.entries.blocklist),
        allowlist: new Map(inventory.entries.allowlist),
      },
    },
  };
}

/** Ignores the insertion order of maps, which has no meaning. */
function decisions({ inventory, refusals, adoptions, outcomes, ...rest }: Plan): unknown {
  const { entries } = inventory;
  const lists = { blocklist: new Map(entries.blocklist), allowlist: new Map(entries.allowlist) };
  const adopted = adoptions.map(({ list, entry, rules }) => `${list} ${entry} ${rules.join(" ")}`).toSorted();
  const decided = [...outcomes.blocklist, ...outcomes.allowlist].map(
    ({ line: { list, entry }, outcome: { kind, reason } }) => `${list} ${entry} ${kind} ${reason}`,
  );
  return { ...rest, decided: decided.toSorted(), adopted, refusals, inventory: { ...inventory, entries: lists } };
}

/** The list after the operations of the plan, as produced by the ledger and the next read. */
function carriedOut(shown: Observed, { operations }: Plan): Observed {
  const lists = { blocklist: new Map(shown.lists.blocklist), allowlist: new Map(shown.lists.allowlist) };
  for (const operation of operations) {
    if (operation.kind === "AddEntry") lists[operation.list].set(operation.entry, [operation.entry]);
    if (operation.kind === "RemoveEntry") lists[operation.list].delete(operation.entry);
  }
  const readAgain = (list: ObservedEntries, last: ObservedEntries): ObservedEntries =>
    observeSpellings([...list.values()].flat(), new Set(), last);
  const { blocklist, allowlist } = shown.lists;
  return {
    ...shown,
    lists: { blocklist: readAgain(lists.blocklist, blocklist), allowlist: readAgain(lists.allowlist, allowlist) },
  };
}

const step = fc.record({
  rule: fc.nat(),
  act: fc.constantFrom("Edit", "Edit", "Text", "Drop", "Add", "Retain", "Adopt", "None"),
  from: fc.integer({ min: 0, max: 700 }),
  carriesOut: fc.boolean(),
  records: fc.boolean(),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

function changed(rules: readonly GatheredRule[], { rule: place, act, from }: Step, round: number): GatheredRule[] {
  const index = place % Math.max(rules.length, 1);
  const old = rules[index];
  if (act === "Add" || old === undefined) return [...rules, aRule(`new-${round}`, { addresses: addresses(9, from) })];
  if (act === "Drop") return rules.toSpliced(index, 1);
  const { rule, texts } = old;
  const meta = { ...rule.meta, generation: rule.meta.generation + 1 };
  const edited = [...rule.addresses.slice(3), ...addresses(5, from), "2001:DB8::9", "nonsense"];
  if (act === "Edit") return rules.with(index, { rule: { ...rule, meta, addresses: edited }, texts });
  if (act === "Text") {
    const text = `${addresses(4, from).join("\n")}\n2001:db8::${round}\n`;
    const longer = texts.map((one) => (one.state === "Read" ? { ...one, text: text + one.text } : one));
    return rules.with(index, { rule, texts: longer });
  }
  if (act === "Retain") return rules.with(index, { rule: { ...rule, deletionPolicy: "Retain" }, texts });
  if (act === "None") return [...rules];
  const annotations = { "wafsync.dev/adopt": "true" };
  return rules.with(index, { rule: { ...rule, meta: { ...meta, annotations } }, texts });
}

function begun(policy: "Additive" | "Exclusive"): World {
  const rules = [
    aRule("a", { addresses: addresses(300) }),
    aRule("b", { addresses: addresses(300, 250), priority: 5 }),
    aRule("c", { texts: [addresses(200, 400).join("\n"), addresses(150, 500).join("\n")] }),
    aRule("d", { action: "Allow", addresses: ["198.51.100.1"] }),
  ];
  const instance = anInstance({ policies: { blocklist: policy }, guards: { neverBlock: ["198.18.1.7"] } });
  const shown = observed({ blocklist: [...addresses(500), "203.0.113.1", "nonsense"] });
  return { instance, rules, observed: shown, inventory: anInventory({ blocklist: addresses(400) }) };
}

describe("An incremental plan", () => {
  test("equals a plan made from scratch at each step", () => {
    const policy = fc.constantFrom("Additive" as const, "Exclusive" as const);
    fc.assert(
      fc.property(policy, fc.array(step, { minLength: 1, maxLength: 6 }), (drawn, steps) => {
        let world = begun(drawn);
        for (const [round, one] of steps.entries()) {
          const plan = planned(world);
          expect(decisions(plan)).toStrictEqual(decisions(planned(forgotten(world))));
          const shown = one.carriesOut ? carriedOut(world.observed, plan) : world.observed;
          const inventory = one.records ? plan.inventory : world.inventory;
          world = { ...world, rules: changed(world.rules, one, round), observed: shown, inventory };
        }
      }),
      { numRuns: caseCount(200) },
    );
  });
});

/** Counts the accesses to the entries of a list. */
class CountedMap<V> extends Map<Entry, V> {
  looks = 0;

  override has(entry: Entry): boolean {
    this.looks += 1;
    return super.has(entry);
  }

  override get(entry: Entry): V | undefined {
    this.looks += 1;
    return super.get(entry);
  }

  override *keys(): MapIterator<Entry> {
    for (const entry of super.keys()) {
      this.looks += 1;
      yield entry;
    }
  }

  override *entries(): MapIterator<[Entry, V]> {
    for (const item of super.entries()) {
      this.looks += 1;
      yield item;
    }
  }

  override [Symbol.iterator](): MapIterator<[Entry, V]> {
    return this.entries();
  }
}

const entriesPerRule = 500;

/** The accesses to a synced list and its record: by the first plan, and after ten entries of one rule were replaced. */
function looksAt(count: number): { readonly first: number; readonly change: number; readonly operations: number } {
  const instance = anInstance();
  const rules = Array.from({ length: count / entriesPerRule }, (_, index) =>
    aRule(`rule-${index}`, { addresses: addresses(entriesPerRule, index * entriesPerRule) }),
  );
  const empty = { instance, rules, observed: observed(), inventory: anInventory() };
  const { inventory: recorded } = planned(empty);
  const shown = new CountedMap(observed({ blocklist: addresses(count) }).lists.blocklist);
  const owned = new CountedMap(recorded.entries.blocklist);
  const world: World = {
    instance,
    rules,
    observed: { ...empty.observed, lists: { ...empty.observed.lists, blocklist: shown } },
    inventory: { ...recorded, entries: { ...recorded.entries, blocklist: owned } },
  };
  shown.looks = 0;
  owned.looks = 0;
  planned(world);
  const first = shown.looks + owned.looks;
  const [rule, ...others] = rules;
  const edited = [...rule!.rule.addresses.slice(10), ...addresses(10, 60_000)];
  const after = { ...world, rules: [{ ...rule!, rule: { ...rule!.rule, addresses: edited } }, ...others] };
  const { operations } = planned(after);
  return { first, change: shown.looks + owned.looks - first, operations: operations.length };
}

describe("The work of a plan", () => {
  test("grows linearly with the number of entries", () => {
    const [small, large] = [looksAt(4_000), looksAt(16_000)];
    expect(large.first / small.first).toBeLessThan(4.1);
    // Each entry is accessed on the list, in the record, and for the count of managed entries.
    expect(large.first).toBeLessThan(16_000 * 6);
  });

  test("after a change of ten entries depends on the change, not on the number of entries", () => {
    const [small, large] = [looksAt(4_000), looksAt(16_000)];
    expect([small.operations, large.operations]).toStrictEqual([20, 20]);
    // The removals follow the order of the list, which is iterated once for that.
    expect(large.change - 16_000).toBeLessThanOrEqual(small.change - 4_000 + 10);
    expect(small.change - 4_000).toBeLessThan(500);
  });
});
