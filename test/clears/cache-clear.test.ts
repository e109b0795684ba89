import { describe, expect, test } from "@jest/globals";
import type { WafFaultCode } from "../../src/model/waf-result.ts";
import type { HandledTrigger } from "../../src/model/inventory.ts";
import type { ClearFinish, ClearRecord, ClearSituation } from "../../src/clears/cache-clear.ts";
import {
  advanceClear,
  currentRecord,
  afterFault,
  notBeforeMs,
  pauseMsAfter,
  withAttempt,
  withHandled,
} from "../../src/clears/cache-clear.ts";
import { handledBy } from "../../src/clears/records.ts";
import { aCacheClear } from "../support/builders/declare.ts";

const nowMs = Date.UTC(2026, 0, 1);

function aRecord(overrides: Partial<ClearRecord> = {}): ClearRecord {
  return {
    trigger: "a",
    startedMs: nowMs - 1_000,
    attempts: 0,
    lastAttemptMs: undefined,
    message: "",
    finish: undefined,
    ...overrides,
  };
}

function decide(overrides: Partial<ClearSituation> = {}) {
  return advanceClear({
    clear: aCacheClear("deploy", { trigger: "a" }),
    record: undefined,
    handled: undefined,
    instanceSuspended: false,
    trouble: undefined,
    notBeforeMs: 0,
    nowMs,
    ...overrides,
  });
}

const cleared = { state: "Cleared", atMs: nowMs - 5_000, clearedAtMs: nowMs - 5_000 } as const;
const handled = { cacheClear: "edge/deploy", trigger: "a", handledAtMs: nowMs - 9_000 };

const due = { group: "due", nextMs: nowMs };

describe("A cache clear", () => {
  test("is due as soon as it exists, with or without a trigger", () => {
    expect(decide()).toMatchObject(due);
    expect(decide({ clear: aCacheClear("deploy") })).toMatchObject(due);
  });

  test("is finished once for its trigger, and due again for another one", () => {
    expect(decide({ record: aRecord({ finish: cleared }) })).toMatchObject({ group: undefined, nextMs: Infinity });
    expect(decide({ record: aRecord({ trigger: "b", finish: cleared }) })).toMatchObject(due);
    expect(decide({ record: aRecord({ trigger: "", finish: cleared }) })).toMatchObject(due);
  });

  test("starts over without the earlier attempts when the trigger changes between attempts", () => {
    const clear = aCacheClear("deploy", { trigger: "b" });
    const record = aRecord({ attempts: 3, lastAttemptMs: nowMs, message: "failed" });
    expect(decide({ clear, record })).toMatchObject(due);
    expect(decide({ clear, record }).record).toStrictEqual(aRecord({ trigger: "b", startedMs: nowMs }));
    expect(currentRecord(clear, record)).toBeUndefined();
  });

  test("does nothing if the instance has recorded the trigger as handled", () => {
    const { group, record } = decide({ handled });
    expect(group).toBe("finished");
    expect(record.finish).toStrictEqual({ state: "Cleared", atMs: nowMs, clearedAtMs: handled.handledAtMs });
    expect(decide({ handled: { ...handled, trigger: "before" } })).toMatchObject(due);
    const without = aCacheClear("deploy");
    expect(decide({ clear: without, handled: { ...handled, trigger: "" } }).group).toBe("finished");
  });

  test("counts as cleared by its own call if the process was killed after the call was recorded", () => {
    const record = aRecord({ attempts: 1, lastAttemptMs: nowMs - 9_500 });
    expect(decide({ handled, record }).record.finish).toStrictEqual({
      state: "Cleared",
      atMs: nowMs,
      clearedAtMs: handled.handledAtMs,
    });
  });

  test("waits while it or its instance is suspended, and so does its deadline", () => {
    const clear = aCacheClear("deploy", { trigger: "a", suspend: true });
    const record = aRecord({ startedMs: nowMs - 400_000 });
    const paused = { group: undefined, record: { ...record, startedMs: undefined } };
    expect(decide({ clear, record })).toMatchObject(paused);
    expect(decide({ instanceSuspended: true, record })).toMatchObject(paused);
    expect(decide({ record: paused.record })).toMatchObject({ group: "due", record: aRecord({ startedMs: nowMs }) });
  });

  test("is repeated after 2, 4, 8 and finally 60 seconds, and decided again at its deadline", () => {
    const delays = [1, 2, 3, 9].map((attempts) => {
      const { group, nextMs } = decide({ record: aRecord({ attempts, lastAttemptMs: nowMs }) });
      return group === "waiting" ? nextMs - nowMs : group;
    });
    expect(delays).toStrictEqual([2_000, 4_000, 8_000, 60_000]);
    const record = aRecord({ startedMs: nowMs - 299_000, attempts: 3, lastAttemptMs: nowMs });
    expect(decide({ record })).toMatchObject({ group: "waiting", nextMs: nowMs + 1_000 });
    expect(decide({ record: aRecord({ attempts: 1, lastAttemptMs: nowMs - 2_000 }) })).toMatchObject(due);
  });

  test("is repeated even if its last allowed attempt was begun by a process that was killed", () => {
    const clear = aCacheClear("deploy", { trigger: "a", backoffLimit: 0 });
    const record = aRecord({ attempts: 1, lastAttemptMs: nowMs - 10_000 });
    expect(decide({ clear, record })).toMatchObject(due);
  });

  test("is delayed by recorded times in the future for one retry, and only once", () => {
    const ahead = aRecord({ startedMs: nowMs + 3_600_000, attempts: 1, lastAttemptMs: nowMs + 3_600_000 });
    const { record, ...first } = decide({ record: ahead });
    expect([first, record.startedMs]).toStrictEqual([{ group: "waiting", nextMs: nowMs + 2_000 }, nowMs]);
    expect(decide({ record, nowMs: nowMs + 2_000 })).toMatchObject({ group: "due", nextMs: nowMs + 2_000 });
  });

  test("waits until the API may be called again", () => {
    expect(decide({ notBeforeMs: nowMs + 7_000 })).toMatchObject({ group: "waiting", nextMs: nowMs + 7_000 });
    expect(decide({ notBeforeMs: nowMs })).toMatchObject(due);
  });

  test("fails at its deadline, and reports the last problem", () => {
    const record = aRecord({ startedMs: nowMs - 300_000, message: "The WAF answered 500." });
    expect(decide({ record })).toMatchObject({
      group: "finished",
      record: { finish: { state: "Failed", message: "The cache clear took longer than 300 s. The WAF answered 500." } },
    });
    const trouble = { isPermanent: false, message: "No connection." };
    expect(decide({ record: aRecord({ startedMs: nowMs - 300_000 }), trouble })).toMatchObject({
      record: { finish: { message: "The cache clear took longer than 300 s. No connection." } },
    });
  });

  test("fails immediately for a wrong key or domain, and waits during all other problems of the instance", () => {
    const wrong = { isPermanent: true, message: "Wrong." };
    expect(decide({ trouble: wrong })).toMatchObject({ record: { finish: { state: "Failed", message: "Wrong." } } });
    expect(decide({ trouble: wrong, record: aRecord({ finish: cleared }) }).record.finish).toBe(cleared);
    const trouble = { isPermanent: false, message: "No connection." };
    expect(decide({ trouble, record: aRecord() })).toMatchObject({ group: "waiting", nextMs: nowMs + 299_000 });
  });

  test("must be deleted some time after it finished, whether it succeeded or failed", () => {
    const clear = aCacheClear("deploy", { trigger: "a", ttlAfterFinishedMs: 60_000 });
    const early = aRecord({ finish: { ...cleared, atMs: nowMs - 59_999 } });
    expect(decide({ clear, record: early })).toMatchObject({ group: undefined, nextMs: nowMs + 1 });
    expect(decide({ clear, record: aRecord({ finish: { ...cleared, atMs: nowMs - 60_000 } }) }).group).toBe("outlived");
    const failed = { state: "Failed", atMs: nowMs - 60_000, reason: "Rejected", message: "No." } as const;
    expect(decide({ clear, record: aRecord({ finish: failed }) }).group).toBe("outlived");
  });
});

describe("A failed call", () => {
  const clear = aCacheClear("deploy", { trigger: "a", backoffLimit: 2 });

  function after(code: WafFaultCode, attempts: number, retryAfterMs?: number) {
    const record = withAttempt(aRecord({ attempts: attempts - 1 }), nowMs);
    const fault = { code, message: "So it was.", ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
    return { pauseMs: pauseMsAfter(fault), record: afterFault(clear, record, fault, nowMs) };
  }

  test("ends the job immediately if the key is wrong or the API refuses", () => {
    for (const code of ["BadApiKey", "Rejected"] as const) {
      expect(after(code, 1).record.finish).toMatchObject({ state: "Failed" });
    }
  });

  test("does not count if the API postpones it, and is repeated at the requested time, or after ten seconds", () => {
    expect(after("RateLimited", 3, 30_000)).toMatchObject({
      record: { attempts: 2, finish: undefined },
      pauseMs: 30_000,
    });
    expect(after("RateLimited", 3).pauseMs).toBe(10_000);
  });
});

function aHandled(cacheClear: string, trigger: string, handledAtMs: number): HandledTrigger {
  return { cacheClear, trigger, handledAtMs };
}

describe("The handled triggers of an instance", () => {
  const times = { atMs: 9, clearedAtMs: 5 };

  test.each<[ClearFinish | undefined, readonly HandledTrigger[]]>([
    [{ state: "Cleared", ...times }, [aHandled("edge/x", "a", 5)]],
    [{ state: "Cleared", ...times, with: "edge/y" }, [aHandled("edge/x", "a", 5)]],
    [{ state: "Failed", atMs: 9, message: "No." }, []],
    [undefined, []],
  ])("are those of objects whose cache was cleared: %j", (finish, expected) => {
    expect(handledBy(aCacheClear("edge/x"), aRecord({ finish }))).toStrictEqual(expected);
  });

  test("contain the last trigger of each object", () => {
    const before = [aHandled("edge/x", "a", 5), aHandled("edge/y", "a", 4)];
    const next = withHandled(before, [aHandled("edge/x", "b", 7)], "Now");
    expect(next).toStrictEqual([aHandled("edge/x", "b", 7), aHandled("edge/y", "a", 4)]);
  });

  test("include a recalled status only if it is newer, and a current result always", () => {
    const before = [aHandled("edge/x", "b", 5)];
    expect(withHandled(before, [aHandled("edge/x", "a", 4)], "Recalled")).toBe(before);
    expect(withHandled(before, [aHandled("edge/x", "a", 6)], "Recalled")).toStrictEqual([aHandled("edge/x", "a", 6)]);
    expect(withHandled(before, [aHandled("edge/x", "a", 4)], "Now")).toStrictEqual([aHandled("edge/x", "a", 4)]);
  });

  test("include every workload, even if its cache was never cleared", () => {
    const many = Array.from({ length: 2_000 }, (_, index) => aHandled(`edge/${index}`, "a", 1 + index));
    const web = aHandled("Deployment edge/web", "u-1/1", 0);
    expect(withHandled([web], many, "Now")).toContain(web);
  });

  test("drop the oldest beyond 2,000, and do not add them again", () => {
    const many = Array.from({ length: 2_100 }, (_, index) => aHandled(`edge/${index}`, "a", index));
    const kept = withHandled([], many, "Now");
    expect(kept).toHaveLength(2_000);
    expect(kept.at(-1)).toStrictEqual(aHandled("edge/100", "a", 100));
    expect(withHandled(kept, many, "Recalled")).toBe(kept);
  });
});

test.each([
  ["waits for its minimum interval", -400_000, 200_000],
  ["does not wait after its minimum interval", -600_000, 0],
  ["waits a little longer after a clear that was recorded by a clock slightly ahead", 2_000, 602_000],
  ["does not wait for a clock that was set back to catch up", 5 * 3_600_000, Number.NEGATIVE_INFINITY],
])("A clear with a minimum interval %s", (_title, handledAfterMs, waitMs) => {
  const before = [aHandled("guest/nightly", "one", nowMs + handledAfterMs), aHandled("other/nightly", "one", nowMs)];
  const untilMs = notBeforeMs(before, { ms: 600_000, counts: (name) => name.startsWith("guest/") }, nowMs);
  expect(untilMs === 0 ? Number.NEGATIVE_INFINITY : untilMs - nowMs).toBe(waitMs);
});
