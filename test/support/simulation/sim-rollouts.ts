// Rollouts in a simulation: changes to workloads, their rollout by a controller, and when processes see it. All of
// this has its own random sequence, so that all other events of a seed are the same as without rollouts.
import type { DeclaredInstance } from "../../../src/model/declared.ts";
import type { Gathered } from "../../../src/model/gathered.ts";
import { nameKey, type ObjectName } from "../../../src/model/resource.ts";
import { workloadKey } from "../../../src/model/workload.ts";
import { seededRandom } from "../builders/seeded-random.ts";
import { RolloutOracle } from "./rollout-oracle.ts";
import { watchLagMsMax } from "./sim-cluster.ts";
import type { SimProcess } from "./sim-process.ts";
import { sightOf, type SimDeployment, WorkloadHistory, workloadRefs } from "./sim-workloads.ts";
import type { SimWorld } from "./sim-world.ts";

const minIntervalMs = 60_000;
/** The interval between users' actions. */
const deedMsMax = 120_000;
/** The interval between the steps of a rollout. */
const stepMsMax = 40_000;
const contents = 6;
/** The time after the end of all faults: the last rollouts, `minInterval`, and the longest backoff. */
const clearedMsMax = 2_400_000;
const shop = "edge/shop";
const twin = "edge/twin";
const shopName = { namespace: "edge", name: "shop" };

export class SimRollouts {
  /** Whether anything is rolled out. */
  readonly isUsed: boolean;
  readonly #oracle = new RolloutOracle(minIntervalMs);
  readonly #world: SimWorld;
  readonly #random: () => number;
  readonly #history = new WorkloadHistory();
  /** The position of each process's watch in the history. */
  readonly #watched = new WeakMap<SimProcess, number>();
  /** The content and the object from which the pods of each workload were last created. */
  readonly #running = new Map<string, string>();
  /** The rollout of each workload that was completed last. */
  readonly #completed = new Map<string, string>();
  #uid = 0;
  #isQuiet = false;

  constructor(world: SimWorld, seed: number, isUsed: boolean) {
    this.#world = world;
    this.isUsed = isUsed;
    this.#random = seededRandom(seed ^ 0x5b_d1_e9);
    if (!isUsed) return;
    for (const { name } of workloadRefs) {
      const deployment = this.#created(`v${this.#pick(contents)}`, "Complete");
      this.#history.put(name, deployment);
      this.#running.set(name, contentKey(deployment));
      this.#completed.set(name, idOf(deployment));
    }
    this.#later(deedMsMax, () => this.#act());
  }

  /** What the instance declares of it. */
  declared(): Pick<DeclaredInstance, "cacheClear"> {
    return { cacheClear: { afterRolloutOf: this.isUsed ? workloadRefs : [], minIntervalMs } };
  }

  /** The first list of a process may be stale. */
  watch(process: SimProcess): void {
    if (!this.isUsed) return;
    const behind = this.#isQuiet ? 0 : this.#pick(3);
    if (behind > 0) this.upset();
    this.#watched.set(process, Math.max(1, this.#history.latest - behind));
    this.#deliver(process);
  }

  /** The position of the process's watch. */
  seenBy(process: SimProcess): number {
    return this.#watched.get(process) ?? 0;
  }

  /** What a process knows about the workloads of an instance. */
  extended<T extends Gathered | undefined>(process: SimProcess, gathered: T): T {
    const seen = this.#watched.get(process);
    if (seen === undefined || gathered === undefined) return gathered;
    const deployments = this.#history.at(seen);
    const { afterRolloutOf } = gathered.instance.cacheClear;
    return { ...gathered, workloads: afterRolloutOf.map((ref) => sightOf(ref, deployments.get(ref.name))) };
  }

  /** A fault occurred, or a process acts on stale data: wafsync may clear once more. */
  upset(): void {
    this.#oracle.upset();
  }

  /** The record of an instance was deleted. */
  forgotten(instance: ObjectName): void {
    if (nameKey(instance) === shop) this.#oracle.forgotten();
  }

  /** A process has cleared the cache. */
  cleared(process: SimProcess, gathered: Gathered | undefined): void {
    if (!this.isUsed) return;
    const known = { sights: gathered?.workloads ?? [], records: this.#world.inventoryOf(shopName).rollouts };
    const objection = this.#oracle.cleared(process.id, known, this.#world.time.nowMs());
    if (objection !== undefined) this.#world.ledger.violation(objection);
  }

  /** All rollouts end, and one more follows. */
  settle(): void {
    this.#isQuiet = true;
    this.#oracle.settled();
    if (!this.isUsed) return;
    for (const { name } of workloadRefs) this.#change(name, { isPaused: false });
    this.#later(deedMsMax, () => {
      for (const { name } of workloadRefs) this.#declare(name, `last-${this.#uid}`);
    });
    this.#world.time.after(clearedMsMax, () => this.expectCleared());
  }

  /** Every rollout was followed by a clear, if the instance exists and no other one has its key. */
  expectCleared(): void {
    const { instances } = this.#world.cluster.now;
    if (instances.get(shop)?.meta.deleting !== false || instances.has(twin)) return;
    for (const workload of this.#oracle.missed())
      this.#world.ledger.violation(`The rollout of ${workload} is complete, and the cache was not cleared after it`);
  }

  #act(): void {
    if (this.#isQuiet) return;
    const { name } = workloadRefs[this.#pick(workloadRefs.length)] ?? workloadRefs[0]!;
    const deployment = this.#now(name);
    const choice = this.#pick(10);
    if (deployment === undefined) this.#recreate(name);
    else if (choice < 5) this.#declare(name, `v${this.#pick(contents)}`);
    else if (choice < 7) this.#change(name, { isPaused: !deployment.isPaused });
    else if (choice === 7) this.#change(name, {});
    else if (choice === 8) this.#put(name, undefined, "deleted");
    else this.#recreate(name);
    this.#later(deedMsMax, () => this.#act());
  }

  #now(name: string): SimDeployment | undefined {
    return this.#history.at(this.#history.latest).get(name);
  }

  #recreate(name: string): void {
    const content = this.#pick(2) === 0 ? this.#now(name)?.content : undefined;
    this.#begun(name);
    this.#put(name, this.#created(content ?? `v${this.#pick(contents)}`, "Unobserved"), "created again");
    this.#roll(name);
  }

  /** Another content of the pods; as before, it is no change. */
  #declare(name: string, content: string): void {
    if (this.#now(name)?.content === content) return;
    this.#begun(name);
    this.#change(name, { content });
  }

  #begun(name: string): void {
    const workload = keyOf(name);
    this.#oracle.begun(workload, this.#world.inventoryOf(shopName).rollouts);
  }

  /** The controller sees it at some later time. A change of nothing is a scale. */
  #change(name: string, change: Partial<Pick<SimDeployment, "content" | "isPaused">>): void {
    const deployment = this.#now(name);
    if (deployment === undefined) return this.#recreate(name);
    const generation = deployment.generation + 1;
    this.#put(name, { ...deployment, ...change, generation, stage: "Unobserved" }, JSON.stringify(change));
    this.#roll(name);
  }

  #roll(name: string): void {
    const generation = this.#now(name)?.generation;
    this.#later(stepMsMax, () => {
      const deployment = this.#now(name);
      if (deployment === undefined || deployment.generation !== generation) return;
      this.#step(name, deployment);
      const next = this.#now(name);
      const waits = next?.isPaused === true && this.#running.get(name) !== contentKey(next);
      if (next?.stage !== "Complete" && !waits) this.#roll(name);
    });
  }

  #step(name: string, deployment: SimDeployment): void {
    const { revision, isPaused, stage } = deployment;
    const running = contentKey(deployment);
    const isRolled = this.#running.get(name) === running;
    if (stage === "Unobserved" && !isRolled && !isPaused) {
      this.#running.set(name, running);
      return this.#put(name, { ...deployment, revision: revision + 1, stage: "Updating" }, "is being rolled out");
    }
    if (!isRolled) return this.#put(name, { ...deployment, stage: "Updating" }, "waits in its pause");
    if (!this.#isQuiet && this.#pick(6) === 0) return this.#put(name, { ...deployment, stage: "Failed" }, "is stuck");
    this.#put(name, { ...deployment, stage: "Complete" }, "is complete");
    const id = idOf(deployment);
    if (this.#completed.get(name) === id) return;
    this.#completed.set(name, id);
    this.#oracle.completed(keyOf(name), id);
  }

  #created(content: string, stage: SimDeployment["stage"]): SimDeployment {
    this.#uid += 1;
    return { uid: this.#uid, generation: 1, revision: stage === "Complete" ? 1 : 0, content, isPaused: false, stage };
  }

  #put(name: string, deployment: SimDeployment | undefined, what: string): void {
    this.#history.put(name, deployment);
    this.#world.note(undefined, `Deployment ${name}: ${what} ${JSON.stringify(deployment)}`);
    for (const process of this.#world.processes) this.#deliver(process);
  }

  #deliver(process: SimProcess): void {
    const index = this.#history.latest;
    const delayMs = this.#isQuiet ? 0 : this.#pick([1, 500, watchLagMsMax][this.#pick(3)] ?? 1);
    this.#world.time.after(
      delayMs,
      () => {
        this.#watched.set(process, Math.max(index, this.seenBy(process)));
        process.seeRollouts();
      },
      process.life,
    );
  }

  #later(delayMsMax: number, act: () => void): void {
    this.#world.time.after(1 + this.#pick(delayMsMax), act);
  }

  #pick(count: number): number {
    return Math.floor(this.#random() * count);
  }
}

function keyOf(name: string): string {
  return workloadKey({ kind: "Deployment", namespace: "edge", name });
}

function contentKey({ uid, content }: SimDeployment): string {
  return `${uid} ${content}`;
}

function idOf(deployment: SimDeployment): string {
  return sightOf(workloadRefs[0]!, deployment).rollout?.id ?? "";
}
