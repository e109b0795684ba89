import { describe, expect, test } from "@jest/globals";
import { stateOf } from "../support/simulation/crash-points.ts";
import { History } from "../support/simulation/histories.ts";
import type { SievePlan } from "../support/simulation/sieve-plans.ts";
import { sievePlans } from "../support/simulation/sieve-plans.ts";

type Applicable = Exclude<SievePlan, { pattern: "NotApplicable" }>;

interface Ending {
  readonly state: string;
  readonly violations: readonly string[];
  readonly trace: string;
  /** Of the process that was behind. */
  readonly writesBehind: readonly string[];
}

/** The same changes, without the fault. */
async function undisturbed(plan: Applicable): Promise<string> {
  const history = new History(plan.before);
  await history.settle();
  for (const change of plan.changes) await history.change(change);
  await history.settle();
  const state = stateOf(history.world);
  await history.discard();
  return state;
}

async function replay(plan: Applicable): Promise<Ending> {
  const history = new History(plan.before);
  const { world } = history;
  await history.settle();
  const wasKilled = plan.pattern === "Intermediate" ? history.killAfter(plan.killedAfter, plan.nth) : undefined;
  const indices = [world.cluster.latest];
  if (plan.pattern === "Unobserved") await history.unobserved(plan.changes);
  for (const change of plan.pattern === "Unobserved" ? [] : plan.changes) {
    change(world);
    // Of what the change brings about, the first: a deleted instance is still held.
    indices.push(world.cluster.latest);
    await history.settle();
  }
  if (wasKilled !== undefined) expect(wasKilled()).toBe(true);
  const before = world.writes.length;
  if (plan.pattern === "Stale") await history.restartBehind(indices[plan.behind] ?? 0);
  const writesBehind = world.writes.slice(before);
  await history.settle();
  const { violations } = world.ledger;
  const ending = { state: stateOf(world), violations, trace: world.trace.join("\n"), writesBehind };
  await history.discard();
  return ending;
}

describe("What Sieve did to other operators", () => {
  test("are 37 plans: 19 stale, 11 intermediate and 7 unobserved states", () => {
    expect(sievePlans).toHaveLength(37);
    const counted = ["stale", "intermediate", "unobserved"].map(
      (pattern) => sievePlans.filter(({ name }) => name.includes(pattern)).length,
    );
    expect(counted).toStrictEqual([19, 11, 7]);
  });

  const applicable = sievePlans.filter((plan): plan is Applicable => plan.pattern !== "NotApplicable");
  test.each(applicable.map((plan) => [plan.name, plan] as const))("does no harm here: %s", async (_, plan) => {
    const { trace, ...ending } = await replay(plan);
    const state = await undisturbed(plan);
    expect({ trace, ...ending }).toStrictEqual({ trace, state, violations: [], writesBehind: [] });
  });
});
