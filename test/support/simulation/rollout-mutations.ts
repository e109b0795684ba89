// The guarantees about clears after rollouts, each with the smallest source change that breaks it.
import type { Mutation } from "./mutations.ts";

const file = "src/plan/cache-clear/rollouts.ts";
const unitTest = "test/plan/cache-clear/rollouts.test.ts";

export const rolloutMutations: readonly Mutation[] = [
  {
    guard: "a completed rollout is followed by a clear",
    file,
    from: "if (isPending(record, sight.seen)) pending.push(workload);",
    to: "if (isPending(record, sight.seen) && known === undefined) pending.push(workload);",
    foundBy: "simulation",
  },
  {
    guard: "a completed rollout causes only one clear",
    file,
    from: "hasBegun: false,",
    to: "hasBegun: true,",
    foundBy: "simulation",
  },
  {
    guard: "two clears for rollouts are `minInterval` apart",
    file,
    from: "clearedAtMs === undefined ? 0 : clearedAtMs + minIntervalMs,",
    to: "clearedAtMs ?? 0,",
    foundBy: "simulation",
  },
  {
    guard: "setting the clock back delays no clear for a rollout",
    file,
    from: "if (clearedAtMs <= nowMs && attemptedAtMs <= nowMs) return record;",
    to: "if (clearedAtMs >= 0) return record;",
    foundBy: unitTest,
  },
  {
    guard: "setting the clock back delays no other clear",
    file: "src/plan/cache-clear/cache-clear.ts",
    from: "lastAttemptMs === undefined ? undefined : Math.min(lastAttemptMs, nowMs);",
    to: "lastAttemptMs;",
    foundBy: "test/plan/cache-clear/cache-clear.test.ts",
  },
  {
    guard: "setting the clock back delays no clear of a guest",
    file: "src/reconcile/cache-clear/advance-clears.ts",
    from: ".filter((atMs) => atMs <= nowMs + intervalMs);",
    to: ";",
    foundBy: "test/reconcile/cache-clear/advance-clears.test.ts",
  },
  {
    guard: "a rollout that has started causes a clear even if it is rolled back",
    file,
    from: "return seen.isPaused ? known : { ...known, hasBegun: true };",
    to: "return known;",
    foundBy: unitTest,
  },
  {
    guard: "a change that is reverted during a pause causes no clear",
    file,
    from: "return seen.isPaused ? known : { ...known, hasBegun: true };",
    to: "return { ...known, hasBegun: true };",
    foundBy: unitTest,
  },
];
