import { expect, test } from "@jest/globals";
import { ElectionWorld, type Process } from "./election-world.ts";
import { caseCount } from "../support/builders/case-count.ts";

const hourMs = 3_600_000;
const troubleMs = 150_000;
const calmMs = 150_000;

/** One fault of one process. */
function strike(world: ElectionWorld, victim: Process, clocksJump: boolean): void {
  const { network, clock } = victim;
  const choice = world.pick(["partition", "pause", "clock", "kill", "release", "slow", "lossy", "delete"]);
  if (choice === "partition") {
    network.partitioned = true;
    world.time.schedule(world.between(1_000, 60_000), () => (network.partitioned = false));
  } else if (choice === "pause") clock.pause(world.between(0, 60_000), !clocksJump && world.random() < 0.5);
  else if (choice === "clock" && clocksJump) clock.jump(world.pick([-1, 1]) * world.between(1_000, hourMs));
  else if (choice === "kill") world.kill(victim);
  else if (choice === "slow") network.delayMs = () => (world.random() < 0.3 ? world.between(0, 20_000) : 20);
  else if (choice === "lossy") network.losesAnswer = () => world.random() < 0.4;
  else if (choice === "release") {
    void victim.elector.release(async () => victim.writing).then(() => (victim.ended = true));
  }
}

/** Two or three processes with faults for a while, followed by a calm period. */
async function simulate(seed: number): Promise<ElectionWorld> {
  const world = new ElectionWorld(seed);
  const clocksJump = seed % 2 === 0;
  const replicas = world.pick([2, 3]);
  const options = () => ({ rate: world.between(0.9, 1.1), wallMs: world.between(-hourMs, hourMs) });
  for (let index = 0; index < replicas; index += 1) world.start(options());
  while (world.time.nowMs < troubleMs) {
    await world.time.advance(world.between(500, 15_000));
    const victim = world.pick(world.living);
    if (victim !== undefined) strike(world, victim, clocksJump);
    if (world.living.length < replicas && world.random() < 0.7) world.start(options());
  }
  for (const { network } of world.living) {
    Object.assign(network, { partitioned: false, delayMs: () => 20, losesAnswer: () => false });
  }
  if (world.living.length === 0) world.start(options());
  await world.time.advance(calmMs);
  return world;
}

test("no two processes ever write at the same time, and finally one of them leads", async () => {
  const seeds = caseCount(800);
  let writers = 0;
  for (let seed = 1; seed <= seeds; seed += 1) {
    const world = await simulate(seed);
    const overlap = world.overlap();
    if (overlap !== undefined) {
      throw new Error(`seed ${seed}: ${JSON.stringify(overlap)}\n${world.standings.join("\n")}`);
    }
    if (world.living.length > 0 && world.leaders().length !== 1) {
      throw new Error(`seed ${seed}: led by ${world.leaders().join()}\n${world.standings.join("\n")}`);
    }
    writers += new Set(world.writes.map(({ identity }) => identity)).size;
  }
  // The simulation would prove nothing if the Lease hardly ever changed hands.
  expect(writers).toBeGreaterThan(2 * seeds);
});
