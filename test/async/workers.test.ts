import { expect, test } from "@jest/globals";
import { KeyedQueue } from "../../src/async/keyed-queue.ts";
import { runWorkers } from "../../src/async/workers.ts";
import type { NextRun, WorkHandler } from "../../src/async/workers.ts";
import { seededRandom } from "../support/builders/seeded-random.ts";
import { VirtualTime } from "../support/fakes/virtual-time.ts";

function start(handle: WorkHandler<string>, workers = 1, random: () => number = () => 0.999_999) {
  const time = new VirtualTime();
  const clock = time.clock();
  const queue = new KeyedQueue<string>({ clock, random });
  const stop = new AbortController();
  const ended = runWorkers({ queue, clock, workers, handle, signal: stop.signal });
  return { time, clock, queue, stop, ended };
}

const change = { priority: "Change", reason: "changed" } as const;

test("a key whose handler throws backs off, until the handler succeeds", async () => {
  const fail = (): never => {
    throw new Error("thrown");
  };
  const results: (() => NextRun)[] = [fail, fail, () => ({}), fail];
  const runs: string[] = [];
  const { time, queue, stop, ended } = start(async (_key, reasons) => {
    runs.push(`${time.nowMs} ${reasons.join()}`);
    return results.shift()?.() ?? {};
  });
  queue.add("a", change);
  await time.advance(10_000);
  queue.add("a", change);
  await time.advance(10_000);
  expect(runs).toStrictEqual(["0 changed", "1000 retry", "3000 retry", "10000 changed", "11000 retry"]);
  stop.abort();
  await ended;
});

test("aborting notifies the handler, and ends the workers after it has returned", async () => {
  const seen: boolean[] = [];
  const { time, clock, queue, stop, ended } = start(async (_key, _reasons, signal) => {
    await clock.sleep(60_000, signal);
    seen.push(signal.aborted);
    return {};
  });
  queue.add("a", change);
  queue.add("b", change);
  await time.advance(1);
  stop.abort();
  await ended;
  expect(seen).toStrictEqual([true]);
  expect(queue.stats()).toStrictEqual({ depth: 1, longestRunningMs: 0, unfinishedMs: 0 });
});

test("no add is lost, no key runs twice at the same time, and no key waits longer than the keys before it take", async () => {
  for (let seed = 0; seed < 200; seed += 1) {
    const random = seededRandom(seed);
    const running = new Set<string>();
    const startedAtMs = new Map<string, number>();
    const sliceMs = 100;
    const workers = 1 + Math.floor(random() * 4);
    const keys = Array.from({ length: 12 }, (_, index) => `key-${index}`);
    const { time, clock, queue, ended } = start(
      async (key) => {
        if (running.has(key)) throw new Error(`seed ${seed}: ${key} runs twice`);
        running.add(key);
        startedAtMs.set(key, time.nowMs);
        await clock.sleep(Math.floor(random() * sliceMs));
        running.delete(key);
        if (random() < 0.3) throw new Error("thrown");
        return {};
      },
      workers,
      random,
    );
    const owed: { key: string; atMs: number }[] = [];
    for (let step = 0; step < 40; step += 1) {
      const key = keys[Math.floor(random() * keys.length)] as string;
      queue.add(key, change);
      owed.push({ key, atMs: time.nowMs });
      await time.advance(Math.floor(random() * 60));
    }
    const boundMs = (keys.length + 1) * sliceMs;
    await time.advance(boundMs);
    for (const { key, atMs } of owed) expect(startedAtMs.get(key)).toBeGreaterThanOrEqual(atMs);
    const ending = queue.shutDown();
    await time.advance(sliceMs);
    await ending;
    await ended;
    expect(running.size).toBe(0);
  }
});

test("a key that failed with its own backoff runs again at that time, and counts as a retry", async () => {
  const time = new VirtualTime();
  const clock = time.clock();
  let retries = 0;
  const observer = { added() {}, retried: () => void (retries += 1), waited() {}, worked() {} };
  const queue = new KeyedQueue<string>({ clock, random: () => 0.5, observer });
  const stop = new AbortController();
  const runs: string[] = [];
  const handle: WorkHandler<string> = async (_key, reasons) => {
    runs.push(`${time.nowMs} ${reasons.join()}`);
    return runs.length === 1 ? { hasFailed: true, wakeAtMs: clock.nowMs() + 7_000 } : {};
  };
  const ended = runWorkers({ queue, clock, workers: 1, handle, signal: stop.signal });
  queue.add("a", change);
  await time.advance(60_000);
  expect(runs).toStrictEqual(["0 changed", "7000 retry"]);
  expect(retries).toBe(1);
  stop.abort();
  await ended;
});
