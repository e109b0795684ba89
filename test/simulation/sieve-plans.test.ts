// The 37 plans with which Sieve (OSDI 2022) found stale, intermediate and unobserved-state bugs in ten operators, with the names
// from its repository. Entries and origins replace the objects that these operators manage, such as a StatefulSet or a Service.
import { describe, expect, test } from "@jest/globals";
import type { DeclaredOrigin } from "../../src/model/declared.ts";
import type { AddressText, GatheredRule } from "../../src/model/gathered.ts";
import { aRule, allowing, anInstance, anOrigin, blocking, mapSource } from "../support/builders/declare.ts";
import { stateOf } from "../support/simulation/crash-points.ts";
import type { SimProcess } from "../support/simulation/sim-process.ts";
import { SimWorld, simKey } from "../support/simulation/sim-world.ts";

const stepMs = 60_000;
/** Longer than a resync. */
const settleMs = 1_000_000;
/** How long a stale API server serves a new process, as in Sieve's plans. */
const behindMs = 20_000;

/** A short history in the simulated world, with a watch that can be stopped. */
class History {
  readonly world = new SimWorld({ seed: 1 });
  #isWatching = true;

  constructor(before: (world: SimWorld) => void) {
    this.world.cluster.change({ key: simKey });
    before(this.world);
    this.world.cluster.onChange = () => this.#deliver();
    this.world.startProcess();
  }

  get process(): SimProcess | undefined {
    return this.world.processes.findLast(({ life }) => life.alive);
  }

  async change(act: (world: SimWorld) => void): Promise<void> {
    act(this.world);
    await this.world.time.advance(stepMs);
  }

  /** The process does not see the changes until they are complete: then it sees the final state. */
  async unobserved(changes: readonly ((world: SimWorld) => void)[]): Promise<void> {
    this.#isWatching = false;
    for (const change of changes) await this.change(change);
    this.#isWatching = true;
    this.#deliver();
    await this.world.time.advance(stepMs);
  }

  /** The process is killed, and an API server whose state is frozen at that moment serves the next process. */
  async restartBehind(index: number): Promise<void> {
    this.world.killed(this.process!, "to be connected to an API server that is behind");
    this.#isWatching = false;
    this.world.startProcess(index);
    await this.world.time.advance(behindMs);
    this.#isWatching = true;
    this.#deliver();
    await this.world.time.advance(stepMs);
  }

  /** Kills the process after its n-th call of this kind, and restarts it. Returns whether this call happened. */
  killAfter(where: string, nth = 1): () => boolean {
    const { world } = this;
    let left = nth;
    world.kills = (now) => {
      if (now !== `after ${where}`) return false;
      left -= 1;
      return left === 0;
    };
    world.onKilled = () => world.time.after(3_000, () => void world.startProcess());
    return () => left <= 0;
  }

  async settle(): Promise<void> {
    await this.world.time.advance(settleMs);
  }

  async discard(): Promise<void> {
    await this.world.discard();
  }

  #deliver(): void {
    if (this.#isWatching) this.process?.see(this.world.cluster.latest);
  }
}

type Act = (world: SimWorld) => void;

interface Replay {
  readonly before: Act;
  /** One after the other. */
  readonly changes: readonly Act[];
}

type SievePlan = { readonly name: string } & (
  | ({ readonly pattern: "Stale" } & Replay & {
        /** The process restarts with the declared state after this number of changes. */ readonly behind: number;
      })
  | ({ readonly pattern: "Unobserved" } & Replay)
  | ({ readonly pattern: "Intermediate" } & Replay & {
        /** The process is killed after this call, the n-th of its kind. */ readonly killedAfter: string;
        readonly nth?: number;
      })
  | { readonly pattern: "NotApplicable"; readonly why: string }
);

const two = ["192.0.2.1", "192.0.2.2"];
const many = [...two, "192.0.2.3", "2001:db8::a"];
const source = mapSource("edge/list");

function instanceOf(uid: string): Act {
  return (world) => world.cluster.put("instances", anInstance({ meta: { uid }, deletionPolicy: "Delete" }));
}

function rule(name: string, addresses: readonly string[], uid = `uid-${name}`, deleting = false): Act {
  return (world) => world.cluster.put("rules", blocking(name, addresses, { meta: { uid, deleting } }));
}

function origin(change: Partial<DeclaredOrigin> = {}): Act {
  return (world) => world.cluster.put("origins", { ...anOrigin("a.example"), ...change });
}

function withText(text: AddressText): Act {
  const declared: GatheredRule = { rule: aRule("feed").rule, texts: [text] };
  return (world) => world.cluster.put("rules", declared);
}

function all(...acts: readonly Act[]): Act {
  return (world) => {
    for (const act of acts) act(world);
  };
}

const removeRule: Act = (world) => world.cluster.remove("rules", "edge/feed");
const removeOrigin: Act = (world) => world.cluster.remove("origins", "edge/a.example");
const removeInstance: Act = (world) => world.cluster.remove("instances", "edge/shop");
const allow: Act = (world) => world.cluster.put("rules", allowing("office", ["198.51.100.0/24"]));
const removeAllow: Act = (world) => world.cluster.remove("rules", "edge/office");
const keyGone: Act = (world) => world.cluster.change({ key: undefined });
const keyBack: Act = (world) => world.cluster.change({ key: simKey });
const read: AddressText = { state: "Read", source, text: two.join("\n") };
const missing: AddressText = { state: "Missing", source, problem: "It does not exist." };

const synced = all(instanceOf("uid-1"), rule("feed", two), origin());
/** The parent is deleted with all its children, and recreated. */
const recreated: Replay = { before: synced, changes: [removeInstance, instanceOf("uid-2")] };
/** A child is deleted and then recreated. */
const childRecreated: Replay = {
  before: synced,
  changes: [rule("feed", two, "uid-feed", true), removeRule, rule("feed", two, "uid-later")],
};
const blocksOffAndOn: Replay = { before: synced, changes: [rule("feed", []), rule("feed", two)] };
const typeChanged: Replay = { before: synced, changes: [origin({ type: "Backup" })] };
const originOffAndOn: Replay = { before: synced, changes: [removeOrigin, origin()] };
const allowOffAndOn: Replay = { before: all(synced, allow), changes: [removeAllow, allow] };
const upAndDown: Replay = { before: synced, changes: [rule("feed", many), rule("feed", two)] };
const downAndUp: Replay = { before: synced, changes: [rule("feed", ["192.0.2.1"]), rule("feed", many)] };
const toZero: Replay = { before: synced, changes: [rule("feed", ["192.0.2.1"]), rule("feed", [])] };
const created: Replay = { before: () => undefined, changes: [synced] };
const extended: Replay = { before: synced, changes: [all(rule("feed", many), allow)] };

const stale = (name: string, replay: Replay, behind = 1): SievePlan => ({ name, pattern: "Stale", ...replay, behind });
const unobserved = (name: string, replay: Replay): SievePlan => ({ name, pattern: "Unobserved", ...replay });
const intermediate = (name: string, replay: Replay, killedAfter: string, nth = 1): SievePlan => ({
  name,
  pattern: "Intermediate",
  ...replay,
  killedAfter,
  nth,
});

const sievePlans: readonly SievePlan[] = [
  intermediate("cass-operator-intermediate-state-1", created, "save"),
  intermediate("cass-operator-intermediate-state-2", created, "POST /api/blocklist_ip", 2),
  stale("cass-operator-stale-state-1", recreated),
  stale("cassandra-operator-stale-state-1", recreated),
  stale("cassandra-operator-stale-state-2", childRecreated),
  unobserved("cassandra-operator-unobserved-state-1", childRecreated),
  intermediate("casskop-intermediate-state-1", toZero, "DELETE /api/blocklist_ip"),
  stale("casskop-stale-state-1", recreated),
  stale("casskop-stale-state-2", typeChanged, 0),
  unobserved("casskop-unobserved-state-1", toZero),
  // In this plan, the deletion of the object was complete when the API server stopped.
  stale("elastic-operator-stale-state-1", { ...childRecreated, changes: [removeRule, rule("feed", two, "uid-later")] }),
  stale("elastic-operator-stale-state-2", downAndUp),
  intermediate("mongodb-operator-intermediate-state-1", extended, "save"),
  intermediate("mongodb-operator-intermediate-state-2", created, "POST /api/origins"),
  stale("mongodb-operator-stale-state-1", recreated),
  stale("mongodb-operator-stale-state-2", blocksOffAndOn),
  stale("mongodb-operator-stale-state-3", allowOffAndOn),
  unobserved("mongodb-operator-unobserved-state-1", originOffAndOn),
  intermediate("nifikop-intermediate-state-1", extended, "status of WafIpRule"),
  intermediate("nifikop-intermediate-state-2", created, "status of WafInstance"),
  intermediate("rabbitmq-operator-intermediate-state-1", typeChanged, "DELETE /api/origins"),
  stale("rabbitmq-operator-stale-state-1", recreated),
  stale("rabbitmq-operator-stale-state-2", typeChanged, 0),
  unobserved("rabbitmq-operator-unobserved-state-1", upAndDown),
  intermediate("xtradb-operator-intermediate-state-1", created, "hold"),
  intermediate("xtradb-operator-intermediate-state-2", extended, "POST /api/allowlist_ip"),
  intermediate("xtradb-operator-intermediate-state-3", recreated, "DELETE /api/blocklist_ip"),
  stale("xtradb-operator-stale-state-1", recreated),
  stale("xtradb-operator-stale-state-2", originOffAndOn),
  stale("xtradb-operator-stale-state-3", allowOffAndOn),
  unobserved("xtradb-operator-unobserved-state-1", upAndDown),
  stale("yugabyte-operator-stale-state-1", { before: synced, changes: [keyGone, keyBack] }),
  stale("yugabyte-operator-stale-state-2", {
    before: all(instanceOf("uid-1"), withText(read)),
    changes: [withText(missing), withText(read)],
  }),
  unobserved("yugabyte-operator-unobserved-state-1", upAndDown),
  stale("zookeeper-operator-stale-state-1", recreated),
  {
    name: "zookeeper-operator-stale-state-2",
    pattern: "NotApplicable",
    why: "The operator deleted a volume because of an old `status.readyReplicas`. wafsync decides nothing by a status.",
  },
  unobserved("zookeeper-operator-unobserved-state-1", {
    before: rule("feed", two),
    changes: [instanceOf("uid-1"), rule("feed", many), rule("feed", ["192.0.2.1"])],
  }),
];

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
