import { expect, test } from "@jest/globals";
import { fullBucket, takeToken } from "../../src/async/token-bucket.ts";

test("a burst is accepted, then one per interval, and setting back the clock has no effect", () => {
  const limits = { burst: 3, refillMs: 1_000 };
  let bucket = fullBucket(limits, 0);
  const take = (nowMs: number): boolean => {
    const result = takeToken(bucket, limits, nowMs);
    bucket = result.bucket;
    return result.taken;
  };
  expect([take(0), take(0), take(0), take(0)]).toStrictEqual([true, true, true, false]);
  expect([take(999), take(1_000), take(1_001)]).toStrictEqual([false, true, false]);
  expect(take(-50_000)).toBe(false);
  expect([take(100_000), take(100_000), take(100_000), take(100_000)]).toStrictEqual([true, true, true, false]);
});
