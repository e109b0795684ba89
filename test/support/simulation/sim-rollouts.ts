// Rollouts in a simulation: users roll workloads out, one rollout may replace another, and processes see this through their watch. A
// completed rollout permits one clear of the cache, a fault one more, and the last rollouts must be followed by one. Everything that one
// look at a workload can show is in test/clears/rollouts.test.ts.
import type { DeclaredInstance, WorkloadRef } from "../../../src/model/declared.ts";
import type { Gathered } from "../../../src/model/gathered.ts";
import { resourceKey } from "../../../src/model/resource.ts";
import { below, seededRandom } from "../builders/seeded-random.ts";
import type { SimProcess } from "./sim-process.ts";
import type { SimWorld } from "./sim-world.ts";

const minIntervalMs = 60_000;
/** The interval between two rollouts. */
const beginMsMax = 120_000;
/** Often longer than that, so that the next rollout replaces it. */
const lastsMsMax = 100_000;
/** After the end of all faults: the first sync of an instance that was created again, and the longest backoff. */
const settledMs = 3_600_000;
const clearedMsMax = 2_400_000;
const workloads: readonly WorkloadRef[] = ["web", "assets"].map((name) => ({
  kind: "Deployment",
  namespace: "edge",
  name,
}));

export class SimRollouts {
  /** Whether anything is rolled out. */
  readonly isUsed: boolean;
  readonly #world: SimWorld;
  readonly #random: () => number;
  readonly #pick = (count: number): number => below(this.#random, count);
  #isQuiet = false;
  #revision = 0;
  /** How many clears are permitted. */
  #permitted = 0;
  #upsets = 0;
  #last: { readonly process: SimProcess; readonly atMs: number; readonly upsets: number } | undefined;

  constructor(world: SimWorld, seed: number, isUsed: boolean) {
    this.#world = world;
    this.isUsed = isUsed;
    this.#random = seededRandom(seed ^ 0x5b_d1_e9);
    if (!isUsed) return;
    for (const workload of workloads) this.#show(workload, 0, true);
    this.#later();
  }

  /** What the instance declares of it. */
  declared(): Pick<DeclaredInstance, "cacheClear"> {
    return { cacheClear: { afterRolloutOf: this.isUsed ? workloads : [], minIntervalMs } };
  }

  /** What a process knows about the workloads: a fresh read does not include them. */
  extended<T extends Gathered | undefined>({ seen }: SimProcess, gathered: T): T {
    if (!this.isUsed || gathered === undefined) return gathered;
    const shown = this.#world.cluster.at(seen).workloads;
    const { afterRolloutOf } = gathered.instance.cacheClear;
    return { ...gathered, workloads: afterRolloutOf.flatMap(({ name }) => shown.get(name) ?? []) };
  }

  /** A kill, a lost response, a record that was not stored, a stale watch of a new process: wafsync may clear once more. */
  upset(): void {
    this.#upsets += 1;
    this.#permitted += 1;
  }

  /** A process has cleared the cache. */
  cleared(process: SimProcess): void {
    if (!this.isUsed) return;
    const { ledger, time } = this.#world;
    const last = this.#last;
    this.#last = { process, atMs: time.nowMs(), upsets: this.#upsets };
    this.#permitted -= 1;
    if (this.#permitted < 0)
      ledger.violation("The cache was cleared, and no rollout had completed since the last clear");
    const sinceMs = time.nowMs() - (last?.atMs ?? 0);
    if (last?.process === process && last.upsets === this.#upsets && sinceMs < minIntervalMs)
      ledger.violation(`The cache was cleared twice within ${sinceMs} ms, which is less than minInterval`);
  }

  /** No faults occur from now on, and one more rollout follows. */
  settle(): void {
    if (!this.isUsed || this.#isQuiet) return;
    this.#isQuiet = true;
    this.#permitted = Math.min(this.#permitted, 4);
    const { cluster, time, counts, ledger } = this.#world;
    time.after(settledMs, () => {
      for (const workload of workloads) this.#rollOut(workload);
    });
    time.after(settledMs + lastsMsMax, () => {
      const before = counts.clears;
      time.after(clearedMsMax, () => {
        const { instances } = cluster.now;
        // Without its instance, or with another one that has its key, nothing is cleared.
        if (instances.get("edge/shop")?.meta.deleting !== false || instances.has("edge/twin")) return;
        if (counts.clears === before)
          ledger.violation("A rollout was complete, and the cache was not cleared after it");
      });
    });
  }

  #later(): void {
    this.#world.time.after(1 + this.#pick(beginMsMax), () => {
      if (this.#isQuiet) return;
      this.#rollOut(workloads[this.#pick(workloads.length)]!);
      this.#later();
    });
  }

  #rollOut(workload: WorkloadRef): void {
    this.#revision += 1;
    const revision = this.#revision;
    this.#show(workload, revision, false);
    this.#world.time.after(this.#isQuiet ? lastsMsMax : this.#pick(lastsMsMax), () => {
      if (!this.#isShown(workload, revision)) return;
      this.#permitted += 1;
      this.#show(workload, revision, true);
    });
  }

  #isShown({ name }: WorkloadRef, revision: number): boolean {
    return this.#world.cluster.now.workloads.get(name)?.rollout === String(revision);
  }

  #show(workload: WorkloadRef, revision: number, isComplete: boolean): void {
    const { cluster } = this.#world;
    const state = isComplete ? "Complete" : "RollingOut";
    const observed = { workload: resourceKey(workload), state, rollout: String(revision) } as const;
    this.#world.note(undefined, `Deployment ${workload.name}: revision ${revision}${isComplete ? "" : " begins"}`);
    cluster.change({ workloads: new Map(cluster.now.workloads).set(workload.name, observed) });
  }
}
