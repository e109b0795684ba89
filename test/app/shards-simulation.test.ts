import { expect, test } from "@jest/globals";
import { caseCount } from "../support/builders/case-count.ts";
import { ShardsWorld } from "../support/worlds/shards-world.ts";
import type { SimulatedReplica } from "../support/worlds/shards-world.ts";

const hourMs = 3_600_000;
const troubleMs = 240_000;
/** The duration of a Lease and the wait of its new holder, twice: for the shards, and for the Lease by which a replica asks. */
const calmMs = 180_000;

/** One fault of one replica. */
function strike(world: ShardsWorld, victim: SimulatedReplica, clocksJump: boolean): void {
  const { network, clock } = victim;
  const choice = world.pick(["partition", "pause", "clock", "kill", "end", "slow", "lossy", "rotate", "rotate"]);
  if (choice === "partition") {
    network.partitioned = true;
    world.time.at(world.time.nowMs + world.between(1_000, 60_000), () => (network.partitioned = victim.isOver));
  } else if (choice === "pause") clock.pause(world.between(0, 60_000), !clocksJump && world.random() < 0.5);
  else if (choice === "clock" && clocksJump) clock.jump(world.pick([-1, 1]) * world.between(1_000, hourMs));
  else if (choice === "kill") victim.kill();
  else if (choice === "end") void victim.end();
  else if (choice === "slow") network.delayMs = () => (world.random() < 0.3 ? world.between(0, 20_000) : 20);
  else if (choice === "lossy") network.losesAnswer = () => world.random() < 0.4;
  else if (choice === "rotate") world.rotate(world.pick(world.instances).meta);
}

async function simulate(seed: number): Promise<{ readonly world: ShardsWorld; readonly calmSinceMs: number }> {
  const world = new ShardsWorld(seed);
  const clocksJump = seed % 2 === 0;
  const replicas = world.pick([2, 3, 5]);
  // Some simulations change the number of shards in the middle, as a rolling update does.
  const changes = seed % 3 === 0;
  const [before, later] = [world.pick([1, 2, 4]), world.pick([1, 3, 5])];
  const shards = (): number => (changes && world.time.nowMs > troubleMs / 2 ? later : before);
  const start = (): void => {
    world.start(shards(), { rate: world.between(0.9, 1.1), wallMs: world.between(-hourMs, hourMs) });
  };
  for (let index = 0; index < replicas; index += 1) start();
  while (world.time.nowMs < troubleMs) {
    await world.time.advance(world.between(500, 15_000));
    const victim = world.pick(world.living);
    if (victim !== undefined) strike(world, victim, clocksJump);
    if (world.living.length < replicas && world.random() < 0.7) start();
  }
  for (const replica of world.living) {
    Object.assign(replica.network, { partitioned: false, delayMs: () => 20, losesAnswer: () => false });
    if (replica.leases.count !== shards()) void replica.end();
  }
  start();
  await world.time.advance(calmMs);
  const calmSinceMs = world.time.nowMs;
  await world.time.advance(60_000);
  for (const replica of world.living) replica.kill();
  return { world, calmSinceMs };
}

test("no two replicas ever call one WAF at the same time, and in the end every instance is reconciled", async () => {
  const seeds = caseCount(60);
  let handOvers = 0;
  for (let seed = 1; seed <= seeds; seed += 1) {
    const { world, calmSinceMs } = await simulate(seed);
    const overlap = world.overlap();
    if (overlap !== undefined) throw new Error(`seed ${seed}: ${JSON.stringify(overlap)}`);
    const idle = world.idleSince(calmSinceMs);
    if (idle.length > 0) throw new Error(`seed ${seed}: nobody works on ${idle.join()}`);
    const callers = new Map<string, string>();
    for (const { key, replica } of world.calls) {
      if (callers.has(key) && callers.get(key) !== replica) handOvers += 1;
      callers.set(key, replica);
    }
  }
  // The simulation would prove nothing if keys rarely moved between replicas.
  expect(handOvers).toBeGreaterThan(5 * seeds);
});
