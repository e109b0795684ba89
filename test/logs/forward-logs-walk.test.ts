// Random weeks of forwarding, each from a seed: late and equal rows, failing pages and outputs, restarts, crashes. At the end, every
// row has been forwarded, and only once unless the process was killed between output and record.
import { expect, test } from "@jest/globals";
import { seededRandom } from "../support/builders/seeded-random.ts";
import { Multiset } from "../support/worlds/log-world.ts";
import { ForwardWorld } from "../support/worlds/forward-world.ts";
import { caseCount } from "../support/builders/case-count.ts";

const seeds = caseCount(60);
const steps = 40;
const hourMs = 3_600_000;

async function walk(seed: number, mayCrash: boolean): Promise<ForwardWorld> {
  const random = seededRandom(seed);
  const chance = (share: number): boolean => random() < share;
  const world = new ForwardWorld({ lookbackMs: 2 * 24 * hourMs });
  await world.becomeReady();
  // In every second week, the limit of an hour is reached repeatedly.
  if (seed % 2 === 0) world.limits = { pagesPerHourMax: 12 };
  world.pageSize = 3 + Math.floor(random() * 20);
  world.onWrite = () => (chance(0.15) ? "The reader is gone." : undefined);
  for (let step = 0; step < steps; step += 1) {
    const nowMs = world.clock.nowMs();
    for (let count = Math.floor(random() * 6); count > 0; count -= 1) {
      const timeMs = nowMs - random() * 10 * hourMs;
      const path = chance(0.3) ? "/same" : undefined;
      // Equal rows need equal times, so they are on the hour.
      const timestamp = new Date(path === undefined ? timeMs : timeMs - (timeMs % hourMs)).toISOString();
      world.block(
        timestamp,
        1 + Math.floor(random() * 3),
        new Date(nowMs + random() * 20 * hourMs).toISOString(),
        path,
      );
    }
    if (chance(0.2)) world.faults.push({ code: "Unavailable", message: "The WAF can't be reached." });
    if (chance(0.1)) world.saveFaults.push("Failed");
    if (mayCrash && chance(0.15)) world.saveFaults.push(chance(0.5) ? "CrashBefore" : "CrashAfter");
    await world.look();
    // A graceful restart: the forwarded rows are already recorded.
    if (chance(0.1) && world.isSaved) world.restart();
    await world.wait(random() * 8 * hourMs);
  }
  world.limits = {};
  world.onWrite = () => undefined;
  world.faults.length = 0;
  world.saveFaults.length = 0;
  for (let looks = 0; looks < 3; looks += 1) {
    await world.wait(12 * hourMs);
    await world.look();
  }
  world.checkStatuses();
  return world;
}

const seedList = Array.from({ length: seeds }, (_, index) => index + 1);

test("without a crash, every row is forwarded exactly once", async () => {
  for (const seed of seedList) {
    const world = await walk(seed, false);
    const wanted = new Multiset(world.rows.map(({ entry }) => entry.request_path));
    expect({ seed, ...new Multiset(world.forwarded).difference(wanted) }).toStrictEqual({
      seed,
      missing: [],
      tooMany: [],
    });
  }
});

test("with crashes, every row is forwarded at least once", async () => {
  let repeated = 0;
  for (const seed of seedList) {
    const world = await walk(seed, true);
    const wanted = new Multiset(world.rows.map(({ entry }) => entry.request_path));
    const { missing, tooMany } = new Multiset(world.forwarded).difference(wanted);
    expect({ seed, missing }).toStrictEqual({ seed, missing: [] });
    repeated += tooMany.length;
  }
  // Otherwise, the crashes had no effect.
  expect(repeated).toBeGreaterThan(0);
});
