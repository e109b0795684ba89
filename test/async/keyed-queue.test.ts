import { describe, expect, test } from "@jest/globals";
import {
  ageingMs,
  KeyedQueue,
  type NextRun,
  queuePriorities,
  type QueuePriority,
  reasonsMax,
  type Wake,
  type WorkHandler,
} from "../../src/async/keyed-queue.ts";
import { caseCount } from "../support/builders/case-count.ts";
import { seededRandom } from "../support/builders/seeded-random.ts";
import { settle, VirtualTime } from "../support/fakes/virtual-time.ts";

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

  /** The next time at which a key becomes ready. */
  get dueMs(): number {
    return Math.min(...this.rows.flatMap(({ state, atMs }) => (state === "delayed" ? [atMs] : [])));
  }

  get running(): number {
    return this.rows.filter(({ state }) => state === "running").length;
  }

  add(key: string, nowMs: number, atMs: number, priority: QueuePriority): void {
    this.promote(nowMs);
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
}

const change: Wake = { priority: "Change", reason: "changed" };
const resync: Wake = { priority: "Resync", reason: "resync" };

const fail = (): never => {
  throw new Error("thrown");
};

function start(handle: WorkHandler<string>, workers = 1, random: () => number = () => 0.999_999) {
  const time = new VirtualTime();
  const clock = time.clock();
  const counts = { retried: 0, waited: 0, worked: 0 };
  /** The time, the key and the reasons of each run, such as `1000 a retry`. */
  const runs: string[] = [];
  const queue = new KeyedQueue<string>({
    clock,
    random,
    observer: {
      added: () => undefined,
      retried: () => (counts.retried += 1),
      waited: () => (counts.waited += 1),
      worked: () => (counts.worked += 1),
    },
  });
  const stop = new AbortController();
  const recorded: WorkHandler<string> = async (key, reasons) => {
    runs.push(`${time.nowMs} ${key} ${reasons.join()}`);
    return await handle(key, reasons);
  };
  const ended = queue.run({ workers, handle: recorded }, stop.signal);
  return { time, clock, queue, counts, runs, stop, ended };
}

test("the number of remembered reasons is limited", async () => {
  const runs: (readonly string[])[] = [];
  const { queue } = start(async (_key, reasons) => {
    runs.push(reasons);
    return {};
  });
  queue.add("a", change);
  for (let index = 0; index < 50; index += 1) queue.add("a", { priority: "Change", reason: `reason ${index}` });
  await settle();
  expect(runs.map(({ length }) => length)).toStrictEqual([1, reasonsMax]);
});

describe("a key", () => {
  test("whose handler throws backs off, until the handler succeeds", async () => {
    const results: (() => NextRun)[] = [fail, fail, () => ({}), fail];
    const { time, queue, counts, runs, stop, ended } = start(async () => results.shift()?.() ?? {});
    queue.add("a", change);
    await time.advance(10_000);
    queue.add("a", change);
    await time.advance(10_000);
    expect(runs).toStrictEqual(["0 a changed", "1000 a retry", "3000 a retry", "10000 a changed", "11000 a retry"]);
    expect(counts).toStrictEqual({ retried: 3, waited: 5, worked: 5 });
    stop.abort();
    await ended;
  });

  test("is retried after at most five minutes", () => {
    const { queue } = start(async () => ({}), 0);
    const delays = Array.from({ length: 11 }, () => queue.retry("a"));
    expect(delays.slice(0, 4)).toStrictEqual([1_000, 2_000, 4_000, 8_000]);
    expect(delays.at(-1)).toBe(300_000);
    expect(queue.retry("b")).toBe(1_000);
  });

  test("that failed with its own backoff runs again at that time, and counts as a retry", async () => {
    const { time, clock, queue, counts, runs } = start(async () => {
      return runs.length === 1 ? { hasFailed: true, wakeAtMs: clock.nowMs() + 7_000 } : {};
    });
    queue.add("a", change);
    await time.advance(60_000);
    expect(runs).toStrictEqual(["0 a changed", "7000 a retry"]);
    expect(counts.retried).toBe(1);
  });

  test("that must be retried runs again at its own time, if that is earlier", async () => {
    const { time, clock, queue, runs } = start(async () => {
      return runs.length < 3 ? { mustRetry: true, wakeAtMs: clock.nowMs() + 1_500 } : {};
    });
    queue.add("a", change);
    await time.advance(60_000);
    expect(runs).toStrictEqual(["0 a changed", "1000 a retry", "2500 a retry,timer"]);
  });
});

test("aborting drops everything but the running work, and ends with it", async () => {
  const { time, clock, queue, runs, stop, ended } = start(async () => {
    await clock.sleep(60_000);
    return { wakeAtMs: 0 };
  });
  queue.add("a", change);
  queue.add("b", change);
  queue.addAfter("c", 1_000, resync);
  await time.advance(1);
  queue.add("a", change);
  let hasEnded = false;
  const ending = ended.then(() => (hasEnded = true));
  stop.abort();
  queue.add("d", change);
  await settle();
  expect(hasEnded).toBe(false);
  await time.advance(60_000);
  await ending;
  expect(runs).toStrictEqual(["0 a changed"]);
  expect(time.pendingTimers).toBe(0);
  expect(queue.stats()).toStrictEqual({ depth: 0, longestRunningMs: 0, unfinishedMs: 0 });
});

/** Runs the queue and the reference with the same random schedule, and compares which keys they start. */
async function compare(seed: number): Promise<void> {
  const random = seededRandom(seed);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const running = new Map<string, () => void>();
  const started: string[] = [];
  const workers = pick([1, 2, 3]);
  const reference = new ReferenceQueue();
  const { time, queue, stop, ended } = start(
    async (key) => {
      if (running.has(key)) throw new Error(`seed ${seed}: ${key} runs twice at the same time`);
      started.push(key);
      await new Promise<void>((resolve) => running.set(key, resolve));
      return {};
    },
    workers,
    random,
  );
  const agree = async (): Promise<void> => {
    await settle();
    const expected: string[] = [];
    reference.promote(time.nowMs);
    while (reference.running < workers) {
      const key = reference.take(time.nowMs);
      if (key === undefined) break;
      expected.push(key);
    }
    const is = started.splice(0).join();
    if (is !== expected.join()) throw new Error(`seed ${seed}: started ${is} instead of ${expected.join()}`);
  };
  const finish = async (): Promise<void> => {
    const [[key, end] = []] = running;
    if (key === undefined) return;
    running.delete(key);
    end?.();
    reference.done(key, time.nowMs);
    await agree();
  };
  const advance = async (durationMs: number): Promise<void> => {
    const untilMs = time.nowMs + durationMs;
    while (time.nowMs < untilMs) {
      await time.advance(Math.min(untilMs, reference.dueMs) - time.nowMs);
      await agree();
    }
  };
  for (let step = 0; step < 30; step += 1) {
    const key = pick(["a", "b", "c", "d", "e"]);
    const wake = { priority: pick<QueuePriority>(queuePriorities), reason: `step ${step}` };
    const choice = random();
    if (choice < 0.25) {
      queue.add(key, wake);
      reference.add(key, time.nowMs, time.nowMs, wake.priority);
    } else if (choice < 0.5) {
      // A time of its own: keys that become ready at the same time do so in any order.
      const delayMs = pick([0, 1, 10, 500, 20_000, 90_000]) + step / 1_024;
      queue.addAfter(key, delayMs, wake);
      reference.add(key, time.nowMs, time.nowMs + delayMs, wake.priority);
    } else if (choice < 0.6) {
      const delayMs = queue.retry(key);
      reference.add(key, time.nowMs, time.nowMs + delayMs, "Retry");
    } else if (choice < 0.8) await finish();
    else await advance(pick([1, 9, 10, 400, 30_000, 61_000]));
    await agree();
  }
  for (let left = 0; left < 30; left += 1) {
    await advance(400_000);
    await finish();
  }
  stop.abort();
  await ended;
  if (time.pendingTimers !== 0) throw new Error(`seed ${seed}: a timer is left behind`);
}

test("random schedules start the same keys as a simple reference queue", async () => {
  for (let seed = 0; seed < caseCount(3_000); seed += 1) await compare(seed);
});
