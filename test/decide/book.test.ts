// A book that was updated step by step equals a new one, a plan visits only what has changed, and a plan that was carried out leaves
// nothing to do.
import { expect, test } from "@jest/globals";
import * as fc from "fast-check";
import type { Observed } from "../../src/model/observed.ts";
import type { DeclaredInstance } from "../../src/model/declared.ts";
import type { GatheredRule } from "../../src/model/gathered.ts";
import type { Inventory } from "../../src/model/inventory.ts";
import { Books, compileDesired } from "../../src/decide/desired.ts";
import type { Plan } from "../../src/decide/plan.ts";
import { caseCount } from "../support/builders/case-count.ts";
import { addresses, anInstance, aRule } from "../support/builders/declare.ts";
import { anInventory, gathered, listsAfter, nowMs, observed, planInstance } from "../support/builders/gathered.ts";

interface World {
  readonly instance: DeclaredInstance;
  readonly rules: readonly GatheredRule[];
  readonly observed: Observed;
  readonly inventory: Inventory;
}

function planned({ instance, rules, observed: shown, inventory }: World, books = new Books()): Plan {
  const desired = compileDesired(gathered({ instance, rules }), nowMs, inventory, shown, books);
  return planInstance({ desired, observed: shown, inventory, nowMs });
}

/** Ignores the insertion order of maps, which has no meaning. */
function decisions({ inventory, adoptions, outcomes, ...rest }: Plan): unknown {
  const { entries } = inventory;
  const lists = { blocklist: new Map(entries.blocklist), allowlist: new Map(entries.allowlist) };
  const adopted = adoptions.map(({ list, entry, rules }) => `${list} ${entry} ${rules.join(" ")}`).toSorted();
  const decided = [...outcomes.blocklist, ...outcomes.allowlist].map(
    ({ list, entry, outcome: { kind, reason } }) => `${list} ${entry} ${kind} ${reason}`,
  );
  return { ...rest, decided: decided.toSorted(), adopted, inventory: { ...inventory, entries: lists } };
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

const policies = fc.constantFrom("Additive" as const, "Exclusive" as const);
const worlds = 132;
const steps = fc.array(step, { minLength: 25, maxLength: 25 });

test("In any world, over 25 steps, a book that was updated step by step equals a new one", () => {
  fc.assert(
    fc.property(policies, steps, (policy, drawn) => {
      let world = begun(policy);
      const books = new Books();
      for (const [round, one] of drawn.entries()) {
        const plan = planned(world, books);
        expect(decisions(plan)).toStrictEqual(decisions(planned(world)));
        const lists = one.carriesOut ? listsAfter(world.observed.lists, plan.operations) : world.observed.lists;
        const inventory = one.records ? plan.inventory : world.inventory;
        world = {
          ...world,
          rules: changed(world.rules, one, round),
          observed: { ...world.observed, lists },
          inventory,
        };
      }
    }),
    { numRuns: caseCount(worlds) },
  );
});

test("The work of a plan after a change of ten entries depends on the change, not on the number of entries", () => {
  const rules = Array.from({ length: 8 }, (_, index) =>
    aRule(`rule-${index}`, { addresses: addresses(500, index * 500) }),
  );
  const shown = observed({ blocklist: addresses(4_000) });
  const books = new Books();
  const empty = { instance: anInstance(), rules, observed: observed(), inventory: anInventory() };
  const { inventory } = planned(empty, books);
  expect(books.blocklist.open.size).toBe(4_000);
  const synced = { ...empty, observed: shown, inventory };
  expect(planned(synced, books).outcomes.blocklist).toStrictEqual([]);
  const [rule, ...others] = rules;
  const edited = [...rule!.rule.addresses.slice(10), ...addresses(10, 60_000)];
  const after = { ...synced, rules: [{ ...rule!, rule: { ...rule!.rule, addresses: edited } }, ...others] };
  const { outcomes, operations } = planned(after, books);
  expect([outcomes.blocklist.length, operations.length]).toStrictEqual([20, 20]);
});
