import { describe, expect, test } from "@jest/globals";
import type { Summary } from "../../src/kinds/summary.ts";
import { SummaryCache } from "../../src/pages/summary-cache.ts";
import type { Seen } from "../../src/cli/targets/target.ts";
import { createVirtualClock } from "../support/fakes/virtual-clock.ts";

const seen: Seen = { atMs: 0, where: "", objects: [], refused: undefined, gaps: [] };

function cacheWith(readMs: number) {
  const clock = createVirtualClock();
  let reads = 0;
  const cache = new SummaryCache({
    see: async () => {
      reads += 1;
      await clock.sleep(readMs);
      return seen;
    },
    summarize: () => ({ where: String(reads) }) as Summary,
    clock,
  });
  const get = async (): Promise<string> => {
    const got = cache.get();
    await clock.advance(Math.max(readMs, 150));
    return (await got).summary.where;
  };
  return { clock, cache, get, reads: () => reads };
}

describe("The summary of a page", () => {
  test("is read once for all requests within two seconds, and again afterwards", async () => {
    const { clock, cache, get, reads } = cacheWith(10);
    expect(await get()).toBe("1");
    expect(await get()).toBe("1");
    await clock.advance(2_000);
    expect(await get()).toBe("2");
    await clock.advance(2_000);
    const both = Promise.all([cache.get(), cache.get()]);
    await clock.advance(150);
    await both;
    expect(reads()).toBe(3);
  });

  test("is the previous one while a new read is slow", async () => {
    const { clock, cache, get } = cacheWith(5_000);
    await get();
    await clock.advance(3_000);
    const got = cache.get();
    await clock.advance(100);
    expect((await got).summary.where).toBe("1");
    await clock.advance(5_000);
    expect((await cache.get()).summary.where).toBe("2");
  });

  test("is dropped a minute after the last request", async () => {
    const { clock, get, reads } = cacheWith(10);
    await get();
    await clock.advance(59_000);
    expect(reads()).toBe(1);
    await get();
    await clock.advance(61_000);
    expect(clock.sleeperCount()).toBe(0);
    expect(await get()).toBe("3");
  });
});
