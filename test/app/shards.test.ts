// Each rule that prevents two replicas from calling one WAF, in the situation that it is for. shards-simulation.test.ts covers random
// situations.
import { expect, test } from "@jest/globals";
import type { DeclaredInstance } from "../../src/model/declared.ts";
import { nameKey } from "../../src/model/resource.ts";
import { ShardsWorld } from "../support/worlds/shards-world.ts";
import type { SimulatedReplica } from "../support/worlds/shards-world.ts";

const shards = 2;
/** The time until two replicas share the shards. */
const sharedMs = 60_000;
const leaseMs = 30_000;

interface Pair {
  readonly world: ShardsWorld;
  readonly first: SimulatedReplica;
  readonly second: SimulatedReplica;
  /** An instance of the first replica. */
  readonly instance: DeclaredInstance;
  /** A shard of the second replica. */
  readonly otherShard: number;
}

/** Two replicas with one shard each. */
async function pair(seed: number): Promise<Pair> {
  const world = new ShardsWorld(seed);
  const first = world.start(shards);
  await world.time.advance(20_000);
  const second = world.start(shards);
  await world.time.advance(sharedMs);
  const [own, other] = [first, second].map(({ leases }) => leases.all().map(({ shard }) => shard));
  const instance = world.instances.find(({ meta }) => own?.includes(world.shardOf(meta, shards)));
  if (instance === undefined || other?.length !== 1) throw new Error("the shards are not shared");
  return { world, first, second, instance, otherShard: other[0] ?? 0 };
}

function end({ replicas }: ShardsWorld): void {
  for (const replica of replicas) replica.kill();
}

/** The times at which the replica has called the WAF of the instance since then. */
function callsOf({ calls }: ShardsWorld, { name }: SimulatedReplica, { meta }: DeclaredInstance, sinceMs: number) {
  return calls.filter((call) => call.replica === name && call.instance === nameKey(meta) && call.fromMs >= sinceMs);
}

test("a rotated key moves the instance to the replica of its shard within a lease, and not before the former replica stops", async () => {
  const { world, second, instance, otherShard } = await pair(1);
  const rotatedMs = world.time.nowMs;
  world.rotateInto(instance.meta, otherShard, shards);
  second.wake(instance.meta);
  await world.time.advance(2 * leaseMs);
  end(world);
  expect(world.overlap()).toBeUndefined();
  const [begun] = callsOf(world, second, instance, rotatedMs);
  // It notices the key at its next check, waits, and checks again.
  expect(begun?.fromMs).toBeLessThan(rotatedMs + leaseMs + 15_000);
});

test("the replica with the former key notifies the others, so that none waits for its resync", async () => {
  const { world, first, second, instance, otherShard } = await pair(2);
  world.changeShare = 0;
  const rotatedMs = world.time.nowMs;
  world.rotateInto(instance.meta, otherShard, shards);
  first.wake(instance.meta);
  await world.time.advance(3 * leaseMs);
  end(world);
  expect(world.overlap()).toBeUndefined();
  expect(callsOf(world, second, instance, rotatedMs)).not.toStrictEqual([]);
});

test("a replica that can't read Secrets calls no WAF, because the keys may have been rotated", async () => {
  const { world, first, second, instance, otherShard } = await pair(3);
  first.readsNoSecrets = true;
  world.rotateInto(instance.meta, otherShard, shards);
  second.wake(instance.meta);
  const sinceMs = world.time.nowMs;
  await world.time.advance(3 * leaseMs);
  end(world);
  expect(world.overlap()).toBeUndefined();
  expect(callsOf(world, first, instance, sinceMs + 15_000)).toStrictEqual([]);
  expect(callsOf(world, second, instance, sinceMs)).not.toStrictEqual([]);
});

test("a shard is given up only when the calls in flight have ended", async () => {
  for (const seed of [4, 5, 6]) {
    const world = new ShardsWorld(seed);
    world.callMs = 6_000;
    world.start(shards);
    await world.time.advance(20_000);
    world.start(shards);
    await world.time.advance(2 * sharedMs);
    expect(world.replicas.map(({ leases }) => leases.all().length)).toStrictEqual([1, 1]);
    end(world);
    expect(world.overlap()).toBeUndefined();
  }
});

test("a live replica takes the shards of a dead replica", async () => {
  const { world, first } = await pair(7);
  first.kill();
  const killedMs = world.time.nowMs;
  await world.time.advance(55_000);
  const takenMs = world.time.nowMs;
  await world.time.advance(15_000);
  end(world);
  expect(world.overlap()).toBeUndefined();
  expect(world.idleSince(takenMs)).toStrictEqual([]);
  expect(takenMs - killedMs).toBeLessThan(2 * leaseMs);
});

test("a leader with a different number of shards waits until no replica uses the former number", async () => {
  let changes = 0;
  for (let seed = 10; seed < 15; seed += 1) {
    const { world, first, second } = await pair(seed);
    const other = world.start(3);
    await world.time.advance(5_000);
    // The first replica leads. Either of the others follows.
    await Promise.race([first.end(), world.time.advance(15_000)]);
    await world.time.advance(40_000);
    if (other.layout.isAgreed()) changes += 1;
    expect([second, other].filter(({ layout }) => layout.isAgreed())).toHaveLength(1);
    end(world);
    expect(world.overlap()).toBeUndefined();
  }
  expect(changes).toBeGreaterThan(0);
});
