// The guarantees about replicas that share shards, each with the smallest source change that breaks it.
import type { Mutation } from "./mutations.ts";

const foundBy = "test/app/shards.test.ts";

export const shardMutations: readonly Mutation[] = [
  {
    guard: "a replica writes nothing if its number of shards differs from the agreed number",
    file: "src/app/held-shard.ts",
    from: "return elector.mayWrite() && isAgreed();",
    to: "return elector.mayWrite();",
    foundBy,
  },
  {
    guard: "a new number of shards is pending for the duration of a Lease",
    file: "src/plan/shards/layout.ts",
    from: "return shards === 1 && !isPending && isUnused ? String(own) : `${own} pending`;",
    to: "return shards === 1 && !isPending && isUnused ? String(own) : `${own}`;",
    foundBy: "test/plan/shards/layout.test.ts",
  },
  {
    guard: "wafsync calls a WAF only with a recently read key",
    file: "src/app/shard-admission.ts",
    from: "if (!isCurrent || this.#ageOf(usable) >= timings.renewDeadlineMs)",
    to: "if (!isCurrent)",
    foundBy,
  },
  {
    guard: "a rotated key is used only after the former key is no longer in use",
    file: "src/app/shard-admission.ts",
    from: "return known.isUnrivaled ? 0 : leftMs;",
    to: "return 0;",
    foundBy,
  },
  {
    guard: "a replica names the instances that it no longer reconciles",
    file: "src/app/moved-instances.ts",
    from: 'if (name.indexOf("/") > 0) this.#onMoved(',
    to: 'if (name.indexOf("/") < 0) this.#onMoved(',
    foundBy,
  },
  {
    guard: "a shard is released only after its runs have ended",
    file: "src/app/shard-leases.ts",
    from: "await held.ended();",
    to: "",
    foundBy,
  },
  {
    guard: "a replica that already holds shards acquires the shards of a dead replica",
    file: "src/app/shard-leases.ts",
    from: "if (seen.sinceMs !== before?.sinceMs) this.#takeableMs.delete(shard);",
    to: "this.#takeableMs.delete(shard);",
    foundBy,
  },
  {
    guard: "a replica with fewer shards gets some of the others' shards",
    file: "src/plan/shards/balance.ts",
    from: "return mostLoaded(holders).load - loadOf(holders, own) >= 2;",
    to: "return false;",
    foundBy,
  },
];
