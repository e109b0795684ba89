// `node scripts/plan-times.ts [--rounds 5] [--counts 1000,10000] [--case change]`: how long plans take, from declared resources to
// ordered operations, by the number of entries. Prints a table; asserts nothing, because the machine decides.
import { parseArgs } from "node:util";
import type { Entry } from "../src/model/entry.ts";
import { observeSpellings } from "../src/model/entry-set.ts";
import type { GatheredRule } from "../src/model/gathered.ts";
import type { Inventory } from "../src/model/inventory.ts";
import type { Observed } from "../src/model/observed.ts";
import { compileDesired } from "../src/plan/instance/desired.ts";
import type { Plan } from "../src/plan/instance/plan.ts";
import { planInstance } from "../src/plan/instance/plan.ts";
import { addresses, anInstance, aRule } from "../test/support/builders/declare.ts";
import { anInventory, gathered, observed } from "../test/support/builders/gathered.ts";

const entriesPerRule = 10_000;
const changedEntries = 10;
/** Not among those of `addresses`. */
const newAddresses = Array.from({ length: 256 }, (_, index) => `203.0.113.${index}`);

interface World {
  readonly rules: readonly GatheredRule[];
  readonly observed: Observed;
  readonly inventory: Inventory;
}

/** What was planned for it before is remembered with it. */
const syncedInstance = anInstance();

function planned({ rules, observed: shown, inventory }: World, instance = syncedInstance): Plan {
  const desired = compileDesired(gathered({ instance, rules }), 0);
  return planInstance({ desired, observed: shown, inventory, nowMs: 0 });
}

function timed<T>(act: () => T): { readonly ms: number; readonly result: T } {
  const startMs = performance.now();
  const result = act();
  return { ms: performance.now() - startMs, result };
}

/** Strings of their own, as if they had just been received. */
function received(texts: readonly string[]): string[] {
  return JSON.parse(JSON.stringify(texts)) as string[];
}

function rulesOf(count: number, namespace = "edge"): GatheredRule[] {
  return Array.from({ length: Math.ceil(count / entriesPerRule) }, (_, rule) => {
    const size = Math.min(entriesPerRule, count - rule * entriesPerRule);
    return aRule(`${namespace}/rule-${rule}`, { addresses: received(addresses(size, rule * entriesPerRule)) });
  });
}

function textRule(lines: readonly string[]): GatheredRule {
  return aRule("edge/list", { texts: [`${lines.join("\n")}\n`] });
}

function synced(rules: readonly GatheredRule[], lines: readonly string[]): World {
  const { inventory } = planned({ rules, observed: observed({}), inventory: anInventory({}) });
  return { rules, observed: readAgain(lines), inventory };
}

function readAgain(lines: readonly string[]): Observed {
  const declared = new Set<Entry>();
  return { ...observed({}), lists: { blocklist: observeSpellings(received(lines), declared), allowlist: new Map() } };
}

function changed(lines: readonly string[], round: number): string[] {
  const step = Math.floor(lines.length / changedEntries);
  return lines.map((line, index) => {
    const place = Math.floor(index / step);
    const isChanged = index % step === 0 && place < changedEntries;
    return isChanged ? (newAddresses[(round * changedEntries + place) % newAddresses.length] ?? "") : line;
  });
}

/**
 * `cold`: nothing is on the list, and nothing was parsed before; also of guests, whose quota is checked. `inSync`: the list was read
 * again. `unchanged`: it shows the same as at the last read. `change`: ten entries of one rule are replaced by others;
 * `changeOfText`: the same for a list that is a single text.
 */
const cases: Readonly<Record<string, (count: number, rounds: number) => number>> = {
  cold: (count, rounds) => {
    const empty = { observed: observed({}), inventory: anInventory({}) };
    return bestOf(rounds, () => {
      const [rules, instance] = [rulesOf(count), anInstance()];
      return timed(() => planned({ rules, ...empty }, instance)).ms;
    });
  },
  coldOfGuests: (count, rounds) => {
    const empty = { observed: observed({}), inventory: anInventory({}) };
    return bestOf(rounds, () => {
      const [rules, instance] = [rulesOf(count, "guest"), anInstance()];
      return timed(() => planned({ rules, ...empty }, instance)).ms;
    });
  },
  inSync: (count, rounds) => {
    const lines = addresses(count);
    const world = synced(rulesOf(count), lines);
    return bestOf(rounds, () => {
      const again = { ...world, observed: readAgain(lines) };
      return timed(() => planned(again)).ms;
    });
  },
  unchanged: (count, rounds) => {
    const world = synced(rulesOf(count), addresses(count));
    return bestOf(rounds, () => timed(() => planned(world)).ms);
  },
  change: (count, rounds) => {
    const world = synced(rulesOf(count), addresses(count));
    planned(world);
    return bestOf(rounds, (round) => {
      const [first, ...others] = world.rules;
      if (first === undefined) throw new Error("no rule");
      const rule = { ...first.rule, addresses: received(changed(first.rule.addresses, round)) };
      return timed(() => planned({ ...world, rules: [{ ...first, rule }, ...others] })).ms;
    });
  },
  changeOfText: (count, rounds) => {
    const lines = addresses(count);
    const world = synced([textRule(lines)], lines);
    planned(world);
    return bestOf(rounds, (round) => {
      const rules = [textRule(changed(lines, round))];
      return timed(() => planned({ ...world, rules })).ms;
    });
  },
};

function bestOf(rounds: number, measureMs: (round: number) => number): number {
  let bestMs = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round += 1) bestMs = Math.min(bestMs, measureMs(round));
  return bestMs;
}

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    counts: { type: "string", default: "1000,10000,100000,1000000" },
    case: { type: "string" },
  },
});
const titles = Object.keys(cases).filter((name) => values.case === undefined || name === values.case);
console.log(["entries", ...titles].map((title) => title.padStart(14)).join(""));
for (const count of values.counts.split(",").map(Number)) {
  const cells = titles.map((title) => `${(cases[title]?.(count, Number(values.rounds)) ?? 0).toFixed(1)} ms`);
  console.log([count.toLocaleString("en"), ...cells].map((cell) => cell.padStart(14)).join(""));
}
