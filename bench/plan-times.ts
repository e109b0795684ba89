// Measures how long plans take, from declared resources to ordered operations. Each result is the best of several rounds.
import type { Entry } from "../src/address/entry.ts";
import { observeSpellings } from "../src/model/observed.ts";
import type { GatheredRule } from "../src/model/gathered.ts";
import type { Inventory } from "../src/model/inventory.ts";
import type { Observed } from "../src/model/observed.ts";
import { Books, compileDesired } from "../src/decide/desired.ts";
import type { Plan } from "../src/decide/plan.ts";
import { addresses, aRule } from "../test/support/builders/declare.ts";
import { anInventory, gathered, observed, planInstance } from "../test/support/builders/gathered.ts";

const entriesPerRule = 10_000;
const changedEntries = 10;
/** `addresses` does not contain these. */
const newAddresses = Array.from({ length: 256 }, (_, index) => `203.0.113.${index}`);

interface World {
  readonly rules: readonly GatheredRule[];
  readonly observed: Observed;
  readonly inventory: Inventory;
  /** What is known from earlier plans. */
  readonly books: Books;
}

function planned({ rules, observed: shown, inventory, books }: World): Plan {
  const desired = compileDesired(gathered({ rules }), 0, undefined, undefined, books);
  return planInstance({ desired, observed: shown, inventory, nowMs: 0 });
}

/** Returns the milliseconds for a plan, and throws unless it has this number of operations. */
function timedPlan(world: World, operations: number): number {
  const { ms, result } = timed(() => planned(world));
  if (result.operations.length === operations) return ms;
  throw new Error(`the plan has ${result.operations.length} operations instead of ${operations}`);
}

function timed<T>(act: () => T): { readonly ms: number; readonly result: T } {
  const startMs = performance.now();
  const result = act();
  return { ms: performance.now() - startMs, result };
}

/** Copies the strings, as if they had just been received. */
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
  const books = new Books();
  const { inventory } = planned({ rules, observed: observed({}), inventory: anInventory({}), books });
  return { rules, observed: readAgain(lines), inventory, books };
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
 * `cold`: the list is empty, and nothing was parsed before; also for guests, whose quota is checked. `inSync`: the list was read
 * again. `unchanged`: the list is the same object as at the last read. `change`: ten entries of one rule are replaced;
 * `changeOfText`: the same for a list that is a single text.
 */
export const planCases = {
  cold: (count, rounds) => {
    const empty = { observed: observed({}), inventory: anInventory({}) };
    return bestOf(rounds, () => {
      const rules = rulesOf(count);
      return timedPlan({ rules, ...empty, books: new Books() }, count);
    });
  },
  coldOfGuests: (count, rounds) => {
    const empty = { observed: observed({}), inventory: anInventory({}) };
    return bestOf(rounds, () => {
      const rules = rulesOf(count, "guest");
      return timedPlan({ rules, ...empty, books: new Books() }, count);
    });
  },
  inSync: (count, rounds) => {
    const lines = addresses(count);
    const world = synced(rulesOf(count), lines);
    return bestOf(rounds, () => {
      const again = { ...world, observed: readAgain(lines) };
      return timedPlan(again, 0);
    });
  },
  unchanged: (count, rounds) => {
    const world = synced(rulesOf(count), addresses(count));
    return bestOf(rounds, () => timedPlan(world, 0));
  },
  change: (count, rounds) => {
    const world = synced(rulesOf(count), addresses(count));
    planned(world);
    return bestOf(rounds, (round) => {
      const [first, ...others] = world.rules;
      if (first === undefined) throw new Error("no rule");
      const rule = { ...first.rule, addresses: received(changed(first.rule.addresses, round)) };
      return timedPlan({ ...world, rules: [{ ...first, rule }, ...others] }, 2 * changedEntries);
    });
  },
  changeOfText: (count, rounds) => {
    const lines = addresses(count);
    const world = synced([textRule(lines)], lines);
    planned(world);
    return bestOf(rounds, (round) => {
      const rules = [textRule(changed(lines, round))];
      return timedPlan({ ...world, rules }, 2 * changedEntries);
    });
  },
} as const satisfies Readonly<Record<string, (count: number, rounds: number) => number>>;

function bestOf(rounds: number, measureMs: (round: number) => number): number {
  let bestMs = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round += 1) bestMs = Math.min(bestMs, measureMs(round));
  return bestMs;
}
