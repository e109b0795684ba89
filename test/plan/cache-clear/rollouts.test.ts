import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import type { RolloutRecord, WorkloadSight } from "../../../src/model/workload.ts";
import { decideRollouts, withRolloutAttempt, withRolloutsCleared } from "../../../src/plan/cache-clear/rollouts.ts";
import { aSight } from "../../support/builders/a-workload.ts";

const minIntervalMs = 60_000;
const startMs = 1_000_000_000;

/** An instance that looks, and that calls when it is due; `clears` has the times of the calls. */
class Looker {
  nowMs = startMs;
  records: readonly RolloutRecord[] = [];
  readonly clears: number[] = [];

  /** Looks after a while, and calls if a call is due. */
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
  test("that was complete at the first sight is remembered, and clears nothing", () => {
    const looker = new Looker();
    looker.look([aSight()]);
    looker.look([aSight()], 3_600_000);
    expect(looker.clears).toEqual([]);
    expect(looker.records).toEqual([expect.objectContaining({ workload: "Deployment edge/web", hasBegun: false })]);
  });

  test("that was under way at the first sight clears when it is complete", () => {
    const looker = new Looker();
    looker.look([begun]);
    looker.look([complete], 5000);
    expect(looker.clears).toEqual([5000]);
  });

  test("that was complete when the instance first looked, but was watched before, clears", () => {
    const looker = new Looker();
    looker.look([aSight({ wasUnderWay: true })]);
    looker.look([aSight({ wasUnderWay: true })], 3_600_000);
    expect(looker.clears).toEqual([0]);
  });

  test("clears once when it is complete, and never while it goes on or fails", () => {
    const looker = new Looker();
    looker.look([aSight()]);
    for (const state of ["Progressing", "Failed", "Progressing"] as const) {
      looker.look(
        [aSight({ revision: "2", content: "two", isRolledOut: false, progress: { state, message: "" } })],
        1000,
      );
    }
    expect(looker.clears).toEqual([]);
    looker.look([complete], 1000);
    looker.look([complete], 3_600_000);
    expect(looker.clears).toEqual([4000]);
  });

  test("whose begin nobody saw clears all the same", () => {
    const looker = new Looker();
    looker.look([aSight()]);
    looker.look([complete], 1000);
    expect(looker.clears).toEqual([1000]);
  });

  test("is no other one after a scale", () => {
    const looker = new Looker();
    looker.look([aSight()]);
    const scaled = aSight({ generation: 2, progress: { state: "Progressing", message: "" } });
    expect(looker.look([scaled], 1000)).toEqual([]);
    looker.look([aSight({ generation: 3 })], 1000);
    expect(looker.clears).toEqual([]);
  });

  test("that was prepared and taken back in a pause clears nothing, whatever numbers it leaves behind", () => {
    const looker = new Looker();
    looker.look([aSight({ revision: "4" })]);
    looker.look([aSight({ revision: "4", content: "new", isPaused: true, isRolledOut: false })], 1000);
    looker.look([aSight({ revision: "5", content: "older", isPaused: true, isRolledOut: false })], 1000);
    looker.look([aSight({ revision: "6", isPaused: true })], 1000);
    looker.look([aSight({ revision: "6" })], 1000);
    expect(looker.clears).toEqual([]);
    expect(looker.records[0]).toMatchObject({ revision: "6", hasBegun: false });
  });

  test("that is paused half-way and goes on clears when it is complete", () => {
    const looker = new Looker();
    looker.look([aSight()]);
    looker.look([aSight({ revision: "2", content: "two", isPaused: true, isRolledOut: false })], 1000);
    looker.look([complete], 1000);
    expect(looker.clears).toEqual([2000]);
  });

  test("that had begun and is rolled back clears when the rollback is complete, since its pods may have answered", () => {
    const looker = new Looker();
    looker.look([aSight()]);
    looker.look([begun], 1000);
    looker.look([aSight({ revision: "3", isRolledOut: false })], 1000);
    expect(looker.clears).toEqual([]);
    looker.look([aSight({ revision: "3" })], 1000);
    expect(looker.clears).toEqual([3000]);
  });

  test("is no other one in an object that was restored with the same content, and is one with another", () => {
    const looker = new Looker();
    looker.look([aSight({ revision: "7" })]);
    looker.look([aSight({ uid: "u-2", revision: "1" })], 1000);
    expect(looker.clears).toEqual([]);
    looker.look([aSight({ uid: "u-3", revision: "1", content: "two" })], 1000);
    expect(looker.clears).toEqual([2000]);
  });

  test("is not made by a server that shows the same revision in other words", () => {
    const looker = new Looker();
    looker.look([aSight()]);
    looker.look([aSight({ content: "one, with a new default" })], 1000);
    expect(looker.clears).toEqual([]);
  });

  test("is still known after its workload was away, and forgotten when it is not listed any more", () => {
    const looker = new Looker();
    looker.look([aSight()]);
    const { workload } = aSight();
    looker.look([{ state: "Unseen", workload, problem: "gone" }], 1000);
    looker.look([complete], 1000);
    expect(looker.clears).toEqual([2000]);
    looker.look([], 1000);
    expect(looker.records).toEqual([]);
  });
});

describe("Rollouts within the interval", () => {
  const at = (revision: number, name = "web") =>
    aSight({ revision: String(revision), content: String(revision) }, name);

  test("are combined into one clear after the last", () => {
    const looker = new Looker();
    looker.look([at(1), at(1, "api")]);
    looker.look([at(2), at(1, "api")], 1000);
    expect(looker.clears).toEqual([1000]);
    expect(looker.look([at(3), at(1, "api")], 10_000)).toEqual(["Deployment edge/web"]);
    looker.look([at(3), at(2, "api")], 10_000);
    looker.look([at(4), at(2, "api")], 10_000);
    expect(looker.decide([at(4), at(2, "api")])).toMatchObject({
      pending: ["Deployment edge/web", "Deployment edge/api"],
      dueMs: startMs + 61_000,
    });
    looker.look([at(4), at(2, "api")], 30_000);
    looker.look([at(4), at(2, "api")], 3_600_000);
    expect(looker.clears).toEqual([1000, 61_000]);
  });

  test("are cleared for at most once an interval, and always at the end, whatever comes when", () => {
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

  test("that failed, or whose end was never recorded, is made again after growing pauses", () => {
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

  test("does not wait for a time that was written by a clock ahead of ours", () => {
    const ahead = withRolloutAttempt(known, ["Deployment edge/web"], startMs + 86_400_000);
    expect(decide(ahead, startMs).dueMs).toBe(startMs + 2000);
  });

  test("waits only once for a time that was written by a clock ahead of ours", () => {
    const ahead = withRolloutAttempt(known, ["Deployment edge/web"], startMs + 86_400_000);
    const { records: seen } = decide(ahead, startMs);
    expect(decide(seen, startMs + 2000).dueMs).toBe(startMs + 2000);
    const cleared = withRolloutsCleared(known, ["Deployment edge/web"], [aSight()], startMs + 86_400_000);
    const { records: later } = decide(cleared, startMs);
    expect(decide(later, startMs + minIntervalMs).dueMs).toBe(startMs + minIntervalMs);
  });

  test("waits as long as the API has asked for", () => {
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
