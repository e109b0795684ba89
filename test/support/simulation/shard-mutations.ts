// The mutations of the rules by which replicas share shards.
import type { Mutation } from "./mutations.ts";

const foundBy = "test/app/shards.test.ts";

export const shardMutations: readonly Mutation[] = [
  {
    guard: "a replica that divides the keys in another way than agreed writes nothing",
    file: "src/app/held-shard.ts",
    from: "return elector.mayWrite() && isAgreed();",
    to: "return elector.mayWrite();",
    foundBy,
  },
  {
    guard: "a new number of shards is pending for as long as a Lease lasts",
    file: "src/plan/shards/layout.ts",
    from: "return shards === 1 && !isPending && isUnused ? String(own) : `${own} pending`;",
    to: "return shards === 1 && !isPending && isUnused ? String(own) : `${own}`;",
    foundBy: "test/plan/shards/layout.test.ts",
  },
  {
    guard: "a WAF is called only with a key that was read a short time ago",
    file: "src/app/shard-admission.ts",
    from: "if (!isCurrent || this.#ageOf(usable) >= timings.renewDeadlineMs)",
    to: "if (!isCurrent)",
    foundBy,
  },
  {
    guard: "a rotated key is used only when the former one is out of use",
    file: "src/app/shard-admission.ts",
    from: "return known.isUnrivaled ? 0 : leftMs;",
    to: "return 0;",
    foundBy,
  },
  {
    guard: "a replica names the instances that it no longer works on",
    file: "src/app/moved-instances.ts",
    from: 'if (name.indexOf("/") > 0) this.#onMoved(',
    to: 'if (name.indexOf("/") < 0) this.#onMoved(',
    foundBy,
  },
  {
    guard: "a shard is given up only when its runs have ended",
    file: "src/app/shard-leases.ts",
    from: "await held.ended();",
    to: "",
    foundBy,
  },
  {
    guard: "the shards of a dead replica are taken by one that holds others",
    file: "src/app/shard-leases.ts",
    from: "if (seen.sinceMs !== before?.sinceMs) this.#takeableMs.delete(shard);",
    to: "this.#takeableMs.delete(shard);",
    foundBy,
  },
  {
    guard: "a replica with fewer shards than others gets some of theirs",
    file: "src/plan/shards/balance.ts",
    from: "return mostLoaded(holders).load - loadOf(holders, own) >= 2;",
    to: "return false;",
    foundBy,
  },
];
