import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import type { RolloutRecord, WorkloadSight } from "../../../src/model/workload.ts";
import { decideRollouts, withRolloutAttempt, withRolloutsCleared } from "../../../src/plan/cache-clear/rollouts.ts";
import { aSight } from "../../support/builders/a-workload.ts";

const minIntervalMs = 60_000;
const startMs = 1_000_000_000;

/** A simulated instance that checks rollouts and makes the calls that are due; `clears` contains the times of the calls. */
class Looker {
  nowMs = startMs;
  records: readonly RolloutRecord[] = [];
  readonly clears: number[] = [];

  /** Checks after a delay, and makes a call if one is due. */
  look(sights: readonly WorkloadSight[], afterMs = 0): readonly string[] {
    this.nowMs += afterMs;
    const { pending, dueMs } = this.decide(sights);
    if (dueMs === undefined || dueMs > this.nowMs) return pending;
    this.records = withRolloutAttempt(this.records, pending, this.nowMs);
    this.records = withRolloutsCleared(this.records, pending, sights, this.nowMs);
    this.clears.push(this.nowMs - startMs);
    return pending;
  }

  decide(sights: readonly WorkloadSight[]) {
    const { records, nowMs } = this;
    const decision = decideRollouts({ sights, records, minIntervalMs, notBeforeMs: 0, nowMs });
    this.records = decision.records;
    return decision;
  }
}

const begun = aSight({ revision: "2", content: "two", isRolledOut: false });
const complete = aSight({ revision: "2", content: "two" });

describe("A rollout", () => {
  test("that was complete when first seen is recorded, and clears nothing", () => {
    const looker = new Looker();
    looker.look([aSight()]);
    looker.look([aSight()], 3_600_000);
    expect(looker.clears).toStrictEqual([]);
    expect(looker.records).toStrictEqual([
      expect.objectContaining({ workload: "Deployment edge/web", hasBegun: false }),
    ]);
  });

  test("that was in progress when first seen clears when it is complete", () => {
    const looker = new Looker();
    looker.look([begun]);
    looker.look([complete], 5000);
    expect(looker.clears).toStrictEqual([5000]);
  });

  test("that was seen in progress before the instance first checked it, and is complete by then, clears", () => {
    const looker = new Looker();
    looker.look([aSight({ wasUnderWay: true })]);
    looker.look([aSight({ wasUnderWay: true })], 3_600_000);
    expect(looker.clears).toStrictEqual([0]);
  });

  test("clears once when it is complete, and never while it progresses or fails", () => {
    const looker = new Looker();
    looker.look([aSight()]);
    for (const state of ["Progressing", "Failed", "Progressing"] as const) {
      looker.look(
        [aSight({ revision: "2", content: "two", isRolledOut: false, progress: { state, message: "" } })],
        1000,
      );
    }
    expect(looker.clears).toStrictEqual([]);
    looker.look([complete], 1000);
    looker.look([complete], 3_600_000);
    expect(looker.clears).toStrictEqual([4000]);
  });

  test("clears even if its beginning was not seen", () => {
    const looker = new Looker();
    looker.look([aSight()]);
    looker.look([complete], 1000);
    expect(looker.clears).toStrictEqual([1000]);
  });

  test("is still the same after scaling", () => {
    const looker = new Looker();
    looker.look([aSight()]);
    const scaled = aSight({ generation: 2, progress: { state: "Progressing", message: "" } });
    expect(looker.look([scaled], 1000)).toStrictEqual([]);
    looker.look([aSight({ generation: 3 })], 1000);
    expect(looker.clears).toStrictEqual([]);
  });

  test("that was prepared and reverted during a pause clears nothing, whatever its numbers", () => {
    const looker = new Looker();
    looker.look([aSight({ revision: "4" })]);
    looker.look([aSight({ revision: "4", content: "new", isPaused: true, isRolledOut: false })], 1000);
    looker.look([aSight({ revision: "5", content: "older", isPaused: true, isRolledOut: false })], 1000);
    looker.look([aSight({ revision: "6", isPaused: true })], 1000);
    looker.look([aSight({ revision: "6" })], 1000);
    expect(looker.clears).toStrictEqual([]);
    expect(looker.records[0]).toMatchObject({ revision: "6", hasBegun: false });
  });

  test("that is paused halfway and resumed clears when it is complete", () => {
    const looker = new Looker();
    looker.look([aSight()]);
    looker.look([aSight({ revision: "2", content: "two", isPaused: true, isRolledOut: false })], 1000);
    looker.look([complete], 1000);
    expect(looker.clears).toStrictEqual([2000]);
  });

  test("that is rolled back after it began clears when the rollback is complete, since its pods may have responded", () => {
    const looker = new Looker();
    looker.look([aSight()]);
    looker.look([begun], 1000);
    looker.look([aSight({ revision: "3", isRolledOut: false })], 1000);
    expect(looker.clears).toStrictEqual([]);
    looker.look([aSight({ revision: "3" })], 1000);
    expect(looker.clears).toStrictEqual([3000]);
  });

  test("is the same in an object that was restored with the same content, but not with different content", () => {
    const looker = new Looker();
    looker.look([aSight({ revision: "7" })]);
    looker.look([aSight({ uid: "u-2", revision: "1" })], 1000);
    expect(looker.clears).toStrictEqual([]);
    looker.look([aSight({ uid: "u-3", revision: "1", content: "two" })], 1000);
    expect(looker.clears).toStrictEqual([2000]);
  });

  test("does not begin if a server formats the same revision differently", () => {
    const looker = new Looker();
    looker.look([aSight()]);
    looker.look([aSight({ content: "one, with a new default" })], 1000);
    expect(looker.clears).toStrictEqual([]);
  });

  test("is still known after its workload was missing, and dropped when it is no longer listed", () => {
    const looker = new Looker();
    looker.look([aSight()]);
    const { workload } = aSight();
    looker.look([{ state: "Unseen", workload, problem: "gone" }], 1000);
    looker.look([complete], 1000);
    expect(looker.clears).toStrictEqual([2000]);
    looker.look([], 1000);
    expect(looker.records).toStrictEqual([]);
  });
});

describe("Rollouts within the interval", () => {
  const at = (revision: number, name = "web") =>
    aSight({ revision: String(revision), content: String(revision) }, name);

  test("are combined into one clear after the last", () => {
    const looker = new Looker();
    looker.look([at(1), at(1, "api")]);
    looker.look([at(2), at(1, "api")], 1000);
    expect(looker.clears).toStrictEqual([1000]);
    expect(looker.look([at(3), at(1, "api")], 10_000)).toStrictEqual(["Deployment edge/web"]);
    looker.look([at(3), at(2, "api")], 10_000);
    looker.look([at(4), at(2, "api")], 10_000);
    expect(looker.decide([at(4), at(2, "api")])).toMatchObject({
      pending: ["Deployment edge/web", "Deployment edge/api"],
      dueMs: startMs + 61_000,
    });
    looker.look([at(4), at(2, "api")], 30_000);
    looker.look([at(4), at(2, "api")], 3_600_000);
    expect(looker.clears).toStrictEqual([1000, 61_000]);
  });

  test("clear at most once per interval, and always at the end, whatever happens when", () => {
    const step = fc.record({
      afterMs: fc.integer({ min: 0, max: 90_000 }),
      web: fc.integer({ min: 1, max: 4 }),
      isRolledOut: fc.boolean(),
      isPaused: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const looker = new Looker();
        looker.look([at(0)]);
        let revision = 0;
        let content = "0";
        for (const { afterMs, web, isRolledOut, isPaused } of steps) {
          if (content !== String(web)) revision += 1;
          content = String(web);
          looker.look([aSight({ revision: String(revision), content, isRolledOut, isPaused })], afterMs);
        }
        const last = looker.clears.length;
        looker.look([aSight({ revision: String(revision), content })], minIntervalMs);
        looker.look([aSight({ revision: String(revision), content })], minIntervalMs);
        const gaps = looker.clears.slice(1).map((timeMs, place) => timeMs - (looker.clears[place] ?? 0));
        expect(gaps.every((gapMs) => gapMs >= minIntervalMs)).toBe(true);
        expect(looker.clears.length - last).toBeLessThanOrEqual(1);
        expect(looker.records[0]).toMatchObject({ revision: String(revision), content, hasBegun: false });
      }),
    );
  });
});

describe("A call for a rollout", () => {
  const records = new Looker();
  records.look([aSight()]);
  const known = records.records;
  const decide = (changed: readonly RolloutRecord[], nowMs: number) =>
    decideRollouts({ sights: [complete], records: changed, minIntervalMs, notBeforeMs: 0, nowMs });

  test("that failed, or whose end was never recorded, is repeated with backoff", () => {
    const once = withRolloutAttempt(known, ["Deployment edge/web"], startMs);
    expect(decide(once, startMs + 1)).toMatchObject({ pending: ["Deployment edge/web"], dueMs: startMs + 2000 });
    const twice = withRolloutAttempt(once, ["Deployment edge/web"], startMs + 2000);
    expect(decide(twice, startMs + 2001).dueMs).toBe(startMs + 6000);
    const often = [...Array(40)].reduce(
      (all: readonly RolloutRecord[]) => withRolloutAttempt(all, ["Deployment edge/web"], startMs),
      known,
    );
    expect(decide(often, startMs + 1).dueMs).toBe(startMs + 300_000);
  });

  test("does not wait for a recorded time in the future", () => {
    const ahead = withRolloutAttempt(known, ["Deployment edge/web"], startMs + 86_400_000);
    expect(decide(ahead, startMs).dueMs).toBe(startMs + 2000);
  });

  test("waits only once because of a recorded time in the future", () => {
    const ahead = withRolloutAttempt(known, ["Deployment edge/web"], startMs + 86_400_000);
    const { records: seen } = decide(ahead, startMs);
    expect(decide(seen, startMs + 2000).dueMs).toBe(startMs + 2000);
    const cleared = withRolloutsCleared(known, ["Deployment edge/web"], [aSight()], startMs + 86_400_000);
    const { records: later } = decide(cleared, startMs);
    expect(decide(later, startMs + minIntervalMs).dueMs).toBe(startMs + minIntervalMs);
  });

  test("waits as long as the API requests", () => {
    const decision = decideRollouts({
      sights: [complete],
      records: known,
      minIntervalMs,
      notBeforeMs: startMs + 7000,
      nowMs: startMs,
    });
    expect(decision.dueMs).toBe(startMs + 7000);
  });
});
