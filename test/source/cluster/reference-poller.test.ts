// When referenced objects are polled, and how many of them.
import { describe, expect, test } from "@jest/globals";
import type { PollPace } from "../../../src/source/cluster/reference-poller.ts";
import {
  pollDelayMsMax,
  polledInGroupMax,
  polledMax,
  ReferencePoller,
} from "../../../src/source/cluster/reference-poller.ts";
import { seededRandom } from "../../support/builders/seeded-random.ts";
import { createVirtualClock } from "../../support/fakes/virtual-clock.ts";

function stage() {
  const clock = createVirtualClock();
  const poller = new ReferencePoller(clock, seededRandom(1));
  const end = new AbortController();
  const polls: { key: string; atMs: number }[] = [];
  const over = new Set<string>();
  const running = poller.run(end.signal);
  const startMs = clock.monotonicMs();
  const add = (key: string, pace: PollPace, group = "shop"): void =>
    poller.add({
      key,
      group,
      pace,
      poll: async () => {
        polls.push({ key, atMs: clock.monotonicMs() - startMs });
        if (key === "broken") throw new Error("no");
        return over.has(key);
      },
    });
  const timesOf = (key: string): number[] => polls.flatMap((poll) => (poll.key === key ? [poll.atMs] : []));
  const stop = async (): Promise<void> => {
    end.abort();
    await running;
  };
  return { clock, poller, add, polls, over, timesOf, stop };
}

describe("A polled object", () => {
  test("that exists is polled at least every 30 s, but not at the same time as all others", async () => {
    const { clock, add, timesOf, stop } = stage();
    for (let index = 0; index < 20; index += 1) add(`map-${index}`, "Existing");
    await clock.advance(300_000);
    const all = Array.from({ length: 20 }, (_, index) => timesOf(`map-${index}`));
    for (const times of all) {
      const gaps = times.map((at, index) => at - (times[index - 1] ?? 0));
      expect(Math.max(...gaps)).toBeLessThanOrEqual(pollDelayMsMax + 1_000);
      expect(Math.min(...gaps.slice(1))).toBeGreaterThanOrEqual(20_000);
    }
    expect(new Set(all.map(([first]) => first)).size).toBeGreaterThan(10);
    await stop();
  });

  test("that is missing is polled soon, then at increasing intervals up to 30 s", async () => {
    const { clock, add, timesOf, stop } = stage();
    add("later", "Missing");
    await clock.advance(120_000);
    const times = timesOf("later");
    expect(times[0]).toBeLessThanOrEqual(3_250);
    expect(times.length).toBeGreaterThanOrEqual(6);
    expect((times.at(-1) ?? 0) - (times.at(-2) ?? 0)).toBeLessThanOrEqual(pollDelayMsMax + 250);
    await stop();
  });

  test("is polled soon after it disappears, and at the constant rate after it reappears", async () => {
    const { clock, poller, add, polls, stop } = stage();
    add("map", "Existing");
    add("map", "Existing");
    expect(poller.size).toBe(1);
    add("map", "Missing");
    await clock.advance(4_000);
    expect(polls).toHaveLength(1);
    add("map", "Existing");
    await clock.advance(19_000);
    expect(polls).toHaveLength(1);
    await stop();
  });

  test("is polled until the poll ends, also after a failure", async () => {
    const { clock, poller, add, over, polls, stop } = stage();
    add("broken", "Missing");
    add("map", "Missing");
    over.add("map");
    await clock.advance(30_000);
    expect(poller.has("map")).toBe(false);
    expect(poller.has("broken")).toBe(true);
    expect(polls.filter(({ key }) => key === "broken").length).toBeGreaterThan(2);
    await stop();
  });
});

describe("Of many objects", () => {
  test("a limited number is polled, in total and per namespace", async () => {
    const { clock, poller, add, stop } = stage();
    for (let index = 0; index < polledInGroupMax + 50; index += 1) add(`greedy-${index}`, "Existing", "greedy");
    expect(poller.size).toBe(polledInGroupMax);
    expect(poller.has(`greedy-${polledInGroupMax}`)).toBe(false);
    for (let index = 0; index < polledMax; index += 1) add(`map-${index}`, "Existing", `team-${index % 10}`);
    expect(poller.size).toBe(polledMax);
    poller.delete("greedy-0");
    add("late", "Existing");
    expect(poller.has("late")).toBe(true);
    await clock.advance(1_000);
    await stop();
  });

  test("a thousand are polled in time, but never more than forty within a second", async () => {
    const { clock, add, polls, stop } = stage();
    for (let index = 0; index < polledMax; index += 1) add(`map-${index}`, "Existing", `team-${index % 10}`);
    await clock.advance(90_000);
    const perSecond = new Map<number, number>();
    for (const { atMs } of polls) {
      const second = Math.floor(atMs / 1_000);
      perSecond.set(second, (perSecond.get(second) ?? 0) + 1);
    }
    expect(Math.max(...perSecond.values())).toBeLessThanOrEqual(40);
    const seen = new Set(polls.flatMap(({ key, atMs }) => (atMs <= 50_000 ? [key] : [])));
    expect(seen.size).toBe(polledMax);
    await stop();
  });
});
