// How long a plan takes, from declared resources to ordered operations. What was declared is made anew for each round, so that no
// round gains from what an earlier one has kept.
import type { Gathered } from "../src/model/gathered.ts";
import { emptyInventory } from "../src/model/inventory.ts";
import { compileDesired } from "../src/plan/instance/desired.ts";
import type { Plan } from "../src/plan/instance/plan.ts";
import { planInstance } from "../src/plan/instance/plan.ts";
import { addresses, aRule } from "../test/support/builders/declare.ts";
import { gathered, observed } from "../test/support/builders/gathered.ts";

const entriesPerRule = 10_000;
const rounds = 5;

export interface PlanTimes {
  /** None of the entries is on the list yet. */
  readonly coldMs: number;
  /** All of them are, and are managed. */
  readonly unchangedMs: number;
}

/** Milliseconds for plans of so many entries. The best of a few rounds. */
export function measurePlans(count: number): PlanTimes {
  const lists = { empty: observed({}), full: observed({ blocklist: addresses(count) }) };
  const { inventory } = timed(declare(count), lists.empty, emptyInventory).plan;
  let coldMs = Number.POSITIVE_INFINITY;
  let unchangedMs = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round += 1) {
    const cold = timed(declare(count), lists.empty, emptyInventory);
    const unchanged = timed(declare(count), lists.full, inventory);
    requireOperations(cold.plan, count);
    requireOperations(unchanged.plan, 0);
    coldMs = Math.min(coldMs, cold.durationMs);
    unchangedMs = Math.min(unchangedMs, unchanged.durationMs);
  }
  return { coldMs, unchangedMs };
}

function declare(count: number): Gathered {
  const rules = Array.from({ length: Math.ceil(count / entriesPerRule) }, (_, rule) => {
    const size = Math.min(entriesPerRule, count - rule * entriesPerRule);
    return aRule(`default/rule-${rule}`, { addresses: addresses(size, rule * entriesPerRule) });
  });
  return gathered({ rules });
}

function timed(
  declared: Gathered,
  shown: ReturnType<typeof observed>,
  inventory: Plan["inventory"],
): { readonly plan: Plan; readonly durationMs: number } {
  const startMs = performance.now();
  const plan = planInstance({ desired: compileDesired(declared, 0), observed: shown, inventory, nowMs: 0 });
  return { plan, durationMs: performance.now() - startMs };
}

function requireOperations({ operations }: Plan, count: number): void {
  if (operations.length !== count) throw new Error(`${operations.length} operations were planned, and not ${count}`);
}
