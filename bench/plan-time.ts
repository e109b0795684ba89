// How long a plan takes, from declared resources to ordered operations.
import { compileDesired } from "../src/plan/instance/desired.ts";
import { planInstance } from "../src/plan/instance/plan.ts";
import { addresses, aRule } from "../test/support/builders/declare.ts";
import { anInventory, gathered, observed } from "../test/support/builders/gathered.ts";

const entriesPerRule = 10_000;
const rounds = 5;

/** Milliseconds for a first plan of so many entries, none of which is on the list yet. The best of a few rounds. */
export function measurePlanMs(count: number): number {
  let bestMs = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round += 1) {
    const rules = Array.from({ length: Math.ceil(count / entriesPerRule) }, (_, rule) => {
      const size = Math.min(entriesPerRule, count - rule * entriesPerRule);
      return aRule(`default/rule-${rule}`, { addresses: addresses(size, rule * entriesPerRule) });
    });
    const declared = gathered({ rules });
    const startMs = performance.now();
    const desired = compileDesired(declared, 0);
    planInstance({ desired, observed: observed({}), inventory: anInventory({}), nowMs: 0 });
    bestMs = Math.min(bestMs, performance.now() - startMs);
  }
  return bestMs;
}
