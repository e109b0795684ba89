import { describe, expect, test } from "@jest/globals";
import { KeyedQueue, ageingMs, queuePriorities, reasonsMax } from "../../src/async/keyed-queue.ts";
import type { QueueItem, QueuePriority, Wake } from "../../src/async/keyed-queue.ts";
import { caseCount } from "../support/builders/case-count.ts";
import { seededRandom } from "../support/builders/seeded-random.ts";
import { VirtualTime, settle } from "../support/fakes/virtual-time.ts";

interface Row {
  key: string;
  state: "delayed" | "ready" | "running" | "running again";
  level: number;
  atMs: number;
  order: number;
}

/** A simple and slow reference implementation: one list that is searched completely. */
class ReferenceQueue {
  rows: Row[] = [];
  order = 0;
  shut = false;

  add(key: string, nowMs: number, atMs: number, priority: QueuePriority): void {
    this.promote(nowMs);
    if (this.shut) return;
    const level = queuePriorities.length - 1 - queuePriorities.indexOf(priority);
    const later = atMs > nowMs;
    const waiting = this.rows.find((row) => row.key === key && row.state !== "running");
    if (waiting !== undefined && later && (waiting.state !== "delayed" || waiting.atMs <= atMs)) return;
    const row = waiting ?? { key, state: "delayed", level: 0, atMs, order: 0 };
    if (waiting === undefined) this.rows.push(row);
    row.level = Math.max(row.level, level);
    if (row.state === "delayed") row.atMs = atMs;
    if (row.state === "delayed" && !later) this.wake(row);
  }

  promote(nowMs: number): void {
    const due = this.rows.filter((row) => row.state === "delayed" && row.atMs <= nowMs);
    for (const row of due.sort((a, b) => a.atMs - b.atMs)) this.wake(row);
  }

  wake(row: Row): void {
    const running = this.rows.some((other) => other.key === row.key && other.state === "running");
    row.state = running ? "running again" : "ready";
    row.order = this.order++;
  }

  take(nowMs: number): string | undefined {
    this.promote(nowMs);
    const rank = (row: Row): number => row.atMs - row.level * ageingMs;
    const ready = this.rows.filter((row) => row.state === "ready");
    const next = ready.sort((a, b) => rank(a) - rank(b) || a.order - b.order)[0];
    if (next !== undefined) next.state = "running";
    return next?.key;
  }

  done(key: string, nowMs: number): void {
    this.promote(nowMs);
    this.rows = this.rows.filter((row) => row.key !== key || row.state !== "running");
    const again = this.rows.find((row) => row.key === key && row.state === "running again");
    if (again === undefined) return;
    Object.assign(again, { state: "ready", atMs: nowMs, order: this.order++ });
  }

  shutDown(): void {
    this.shut = true;
    this.rows = this.rows.filter((row) => row.state === "running");
  }
}

const change: Wake = { priority: "Change", reason: "changed" };
const resync: Wake = { priority: "Resync", reason: "resync" };

function makeQueue(random: () => number = () => 0.5) {
  const time = new VirtualTime();
  const counts = { added: 0, retried: 0, waitedMs: [] as number[], workedMs: [] as number[] };
  const queue = new KeyedQueue<string>({
    clock: time.clock(),
    random,
    observer: {
      added: () => (counts.added += 1),
      retried: () => (counts.retried += 1),
      waited: (durationMs) => counts.waitedMs.push(durationMs),
      worked: (durationMs) => counts.workedMs.push(durationMs),
    },
  });
  return { time, queue, counts };
}

/** The keys that are ready, without waiting. */
async function takeNow(queue: KeyedQueue<string>): Promise<QueueItem<string> | undefined> {
  const impatient = new AbortController();
  const taken = queue.get(impatient.signal);
  impatient.abort();
  return taken;
}

describe("keys that wait", () => {
  test("only one timer is active, however many keys wait", async () => {
    const { time, queue } = makeQueue();
    for (let index = 0; index < 500; index += 1) queue.addAfter(`key-${index}`, 10_000 - index, resync);
    await settle();
    expect(time.pendingTimers).toBe(1);
  });

  test("the number of remembered reasons is limited", async () => {
    const { queue } = makeQueue();
    for (let index = 0; index < 50; index += 1) queue.add("a", { priority: "Change", reason: `reason ${index}` });
    expect((await takeNow(queue))?.reasons).toHaveLength(reasonsMax);
  });

  test("a waiting taker gets the next key, and leaves when its signal aborts", async () => {
    const { queue } = makeQueue();
    const stop = new AbortController();
    const leaving = queue.get(stop.signal);
    const staying = queue.get();
    stop.abort();
    expect(await leaving).toBeUndefined();
    queue.add("a", change);
    expect((await staying)?.key).toBe("a");
  });

  test("calling done for a key that is not in progress throws", () => {
    const { queue } = makeQueue();
    expect(() => queue.done("a")).toThrow("not in progress");
  });
});

describe("retries", () => {
  test("the delay doubles up to five minutes, and starts again after forget", () => {
    const { queue, counts } = makeQueue(() => 0.999_999);
    const delays = Array.from({ length: 11 }, () => queue.retry("a", "failed"));
    expect(delays.slice(0, 4)).toStrictEqual([1_000, 2_000, 4_000, 8_000]);
    expect(delays.at(-1)).toBe(300_000);
    expect(queue.failures("a")).toBe(11);
    expect(queue.retry("b", "failed")).toBe(1_000);
    queue.forget("a");
    expect(queue.retry("a", "failed")).toBe(1_000);
    expect(counts.retried).toBe(13);
  });
});

describe("shutting down", () => {
  test("drops everything but the running work, and wakes the takers", async () => {
    const { time, queue } = makeQueue();
    queue.add("a", change);
    await takeNow(queue);
    const waiting = queue.get();
    queue.addAfter("b", 1_000, resync);
    queue.add("a", change);
    let ended = false;
    const ending = queue.shutDown().then(() => (ended = true));
    queue.add("c", change);
    expect(await waiting).toBeUndefined();
    expect(await queue.get()).toBeUndefined();
    await settle();
    expect(ended).toBe(false);
    queue.done("a");
    await ending;
    expect(await queue.get()).toBeUndefined();
    expect(time.pendingTimers).toBe(0);
    expect(queue.stats()).toStrictEqual({ depth: 0, longestRunningMs: 0, unfinishedMs: 0 });
  });

  test("ends immediately if no key is in progress, and can be called repeatedly", async () => {
    const { queue } = makeQueue();
    queue.add("a", change);
    const first = queue.shutDown();
    await queue.shutDown();
    await first;
    expect(await queue.get()).toBeUndefined();
  });
});

/** Runs the queue and the reference with the same random schedule, and compares every result. */
async function compare(seed: number): Promise<void> {
  const random = seededRandom(seed);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const { time, queue } = makeQueue(random);
  const reference = new ReferenceQueue();
  const running = new Set<string>();
  const take = async (): Promise<void> => {
    const expected = reference.take(time.nowMs);
    const item = await takeNow(queue);
    if (item?.key !== expected) throw new Error(`seed ${seed}: took ${item?.key} instead of ${expected}`);
    if (expected === undefined) return;
    if (running.has(expected)) throw new Error(`seed ${seed}: ${expected} is worked on twice`);
    running.add(expected);
  };
  const finish = (key: string): void => {
    running.delete(key);
    queue.done(key);
    reference.done(key, time.nowMs);
  };
  for (let step = 0; step < 30; step += 1) {
    const key = pick(["a", "b", "c", "d", "e"]);
    const wake = { priority: pick<QueuePriority>(queuePriorities), reason: `step ${step}` };
    const choice = random();
    if (choice < 0.25) {
      queue.add(key, wake);
      reference.add(key, time.nowMs, time.nowMs, wake.priority);
    } else if (choice < 0.45) {
      const delayMs = pick([0, 1, 10, 500, 20_000, 90_000]);
      queue.addAfter(key, delayMs, wake);
      reference.add(key, time.nowMs, time.nowMs + delayMs, wake.priority);
    } else if (choice < 0.55) {
      const delayMs = queue.retry(key, "failed");
      reference.add(key, time.nowMs, time.nowMs + delayMs, "Retry");
    } else if (choice < 0.75) await take();
    else if (choice < 0.88) for (const busy of [...running].slice(0, 1)) finish(busy);
    else if (choice < 0.99) await time.advance(pick([1, 9, 10, 400, 30_000, 61_000]));
    else {
      void queue.shutDown();
      reference.shutDown();
    }
  }
  for (let left = 0; left < 30; left += 1) {
    await time.advance(400_000);
    await take();
    for (const busy of running) finish(busy);
  }
  await queue.shutDown();
  if (time.pendingTimers !== 0) throw new Error(`seed ${seed}: a timer is left behind`);
}

test("random schedules give the same results as a simple reference queue", async () => {
  for (let seed = 0; seed < caseCount(10_000); seed += 1) await compare(seed);
});
