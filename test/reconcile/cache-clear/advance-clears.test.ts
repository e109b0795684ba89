import { describe, expect, test } from "@jest/globals";
import { ClearMemory } from "../../../src/reconcile/cache-clear/clear-records.ts";
import { advanceClears } from "../../../src/reconcile/cache-clear/advance-clears.ts";
import { aCacheClear, aGrant, anInstance } from "../../support/builders/declare.ts";
import { gathered, nowMs } from "../../support/builders/gathered.ts";
import { RecordedStatus } from "../../support/fakes/recorded-status.ts";

const intervalMs = 600_000;

/** In how many milliseconds a guest may clear, if its last clear was recorded at this time. */
function waitAfter(handledAtMs: number): number {
  const access = [aGrant({ kinds: ["WafCacheClear"], cacheClearMinIntervalMs: intervalMs })];
  const clear = aCacheClear("guest/nightly", { trigger: "two", activeDeadlineMs: 86_400_000 });
  const { due, nextMs = Number.NaN } = advanceClears(new RecordedStatus(), new ClearMemory(), {
    gathered: gathered({ instance: anInstance({ access }), cacheClears: [clear] }),
    handled: [{ cacheClear: "guest/nightly", trigger: "one", handledAtMs }],
    trouble: undefined,
    nowMs,
  });
  return due.length > 0 ? 0 : nextMs - nowMs;
}

describe("A clear of a guest", () => {
  test("waits for its minimum interval", () => {
    expect(waitAfter(nowMs - 400_000)).toBe(200_000);
    expect(waitAfter(nowMs - intervalMs)).toBe(0);
  });

  test("waits a little longer after a clear that was recorded by a clock slightly ahead", () => {
    expect(waitAfter(nowMs + 2_000)).toBe(intervalMs + 2_000);
  });

  test("does not wait for a clock that was set back to catch up", () => {
    expect(waitAfter(nowMs + 5 * 3_600_000)).toBe(0);
  });
});
