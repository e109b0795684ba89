import { describe, expect, test } from "@jest/globals";
import { type KubeObject, microTime } from "../../src/kube/kube-object.ts";
import {
  afterLeaseFailure,
  afterLeaseRead,
  afterLeaseWrite,
  elapsedMs,
  type ElectorState,
  heldLease,
  initialElectorState,
  type Instant,
  leasePauseMs,
  leaseRequestTimeoutMs,
  type LeaseView,
  mayWriteUnder,
  nextLeaseAct,
  readLease,
  releasedLease,
} from "../../src/kube/lease-decision.ts";

const at = (monotonicMs: number, wallMs = monotonicMs): Instant => ({ monotonicMs, wallMs });
const held = (holder: string, resourceVersion = "1", durationMs = 30_000): LeaseView => ({
  holder,
  durationMs,
  metadata: { name: "leader", uid: "l", resourceVersion },
  spec: {},
});
const free = (released: boolean): LeaseView => held("", "1", released ? 1_000 : 30_000);
const read = (state: ElectorState, view: LeaseView, now: Instant) => afterLeaseRead(state, view, "me", now);
const next = (state: ElectorState, now: Instant) => nextLeaseAct(state, "me", now);
/** The act that writes over what was seen last. */
const writeOver = (state: ElectorState, settleMs: number) => ({ kind: "Write", over: state.seen, settleMs });
const holding = (since: Instant, settleMs = 0): ElectorState =>
  afterLeaseWrite(initialElectorState, held("me"), { started: since, now: since, settleMs });

describe("a candidate", () => {
  test("reads first, and creates a Lease that never existed without settling", () => {
    expect(next(initialElectorState, at(0))).toStrictEqual({ kind: "Read" });
    const state = read(initialElectorState, "Absent", at(0));
    expect(next(state, at(0))).toStrictEqual({ kind: "Write", over: "Absent", settleMs: 0 });
  });

  test("settles after creating a Lease that was deleted while it was held", () => {
    const seen = read(initialElectorState, held("other"), at(0));
    const state = read(seen, "Absent", at(1_000));
    expect(next(state, at(1_000))).toStrictEqual({ kind: "Write", over: "Absent", settleMs: 10_000 });
  });

  test("takes a released Lease immediately, and settles unless the last holder's work had ended", () => {
    const released = read(initialElectorState, free(true), at(0));
    expect(next(released, at(0))).toStrictEqual(writeOver(released, 0));
    const emptied = read(initialElectorState, free(false), at(0));
    expect(next(emptied, at(0))).toStrictEqual(writeOver(emptied, 10_000));
  });

  test("takes a held Lease only after it was unchanged for 30 s of monotonic time", () => {
    let state = read(initialElectorState, held("other", "1"), at(0));
    state = read(state, held("other", "2"), at(20_000));
    expect(next(state, at(49_999))).toStrictEqual({ kind: "Wait" });
    expect(next(state, at(49_999, 4_000_000))).toStrictEqual({ kind: "Wait" });
    expect(next(read(state, held("other", "2"), at(50_000)), at(50_000))).toStrictEqual(writeOver(state, 10_000));
    expect(next(state, at(50_000, -4_000_000))).toStrictEqual(writeOver(state, 10_000));
  });

  test("waits for the longer duration of another holder, up to a limit", () => {
    const slow = read(initialElectorState, held("other", "1", 60_000), at(0));
    expect(next(slow, at(59_999)).kind).toBe("Wait");
    expect(next(slow, at(60_000)).kind).toBe("Write");
    const absurd = read(initialElectorState, held("other", "1", 1e12), at(0));
    expect(next(absurd, at(300_000)).kind).toBe("Write");
  });

  test("that finds itself as the holder after a lost response renews and settles", () => {
    const state = read(afterLeaseFailure(initialElectorState), held("me"), at(0));
    expect(next(state, at(0))).toStrictEqual(writeOver(state, 10_000));
    expect(mayWriteUnder(state, at(0))).toBe(false);
  });
});

describe("a holder", () => {
  test("may write for 15 s from the start of its last renewal, by whichever clock advanced more", () => {
    const state = holding(at(0));
    expect(elapsedMs(at(10, 20), at(15, 90))).toBe(70);
    expect(mayWriteUnder(state, at(14_999))).toBe(true);
    expect(mayWriteUnder(state, at(15_000))).toBe(false);
    expect(mayWriteUnder(state, at(100, 15_000))).toBe(false);
    expect(mayWriteUnder(state, at(14_999, -3_600_000))).toBe(true);
    expect(mayWriteUnder(state, at(15_000, -3_600_000))).toBe(false);
  });

  test("loses the Lease to another holder's record and at the deadline", () => {
    const taken = read(afterLeaseFailure(holding(at(0))), held("other"), at(1_000));
    expect(next(taken, at(1_000))).toStrictEqual({ kind: "Lose", reason: "other has taken it" });
    expect(next(holding(at(0)), at(15_000)).kind).toBe("Lose");
    expect(next({ ...holding(at(0)), lost: "gone" }, at(1))).toStrictEqual({ kind: "Lose", reason: "gone" });
  });

  test("restores a Lease that was deleted or emptied while it was held", () => {
    const deleted = read(afterLeaseFailure(holding(at(0))), "Absent", at(1_000));
    expect(next(deleted, at(1_000)).kind).toBe("Write");
    expect(next(read(afterLeaseFailure(holding(at(0))), free(false), at(1_000)), at(1_000)).kind).toBe("Write");
  });

  test("renews each period, retries soon after a failure, and never waits beyond its deadline", () => {
    const pause = (state: ElectorState, now: Instant) => leasePauseMs(state, now, () => 0);
    expect(pause(holding(at(0)), at(100))).toBe(2_900);
    expect(pause(afterLeaseFailure(holding(at(0))), at(8_000))).toBe(1_000);
    expect(pause(afterLeaseFailure(holding(at(0))), at(14_600))).toBe(400);
    expect(leaseRequestTimeoutMs(holding(at(0)), at(3_000))).toBe(5_000);
    expect(leaseRequestTimeoutMs(holding(at(0)), at(12_000))).toBe(3_000);
  });
});

const nowMs = Date.UTC(2026, 10, 21, 12, 0, 0, 123);
const claim = { identity: "pod-1_ab12", nowMs };
const stored = (spec: unknown) => ({
  metadata: { name: "leader", uid: "l", resourceVersion: "7", labels: { team: "edge" } },
  spec,
});

test("a record is held by the holder that it names, free without one, and released if its duration is one second", () => {
  const spec = { holderIdentity: "a", leaseDurationSeconds: 15 };
  expect(readLease(stored(spec))).toStrictEqual({ holder: "a", durationMs: 15_000, ...stored(spec) });
  expect(readLease(stored({ holderIdentity: "", leaseDurationSeconds: 1 }))).toMatchObject({
    holder: "",
    durationMs: 1_000,
  });
  expect(readLease(stored({ holderIdentity: null }))).toMatchObject({ holder: "", durationMs: 0 });
  expect(readLease(stored(undefined))).toMatchObject({ holder: "", durationMs: 0 });
});

const address = { namespace: "wafsync", name: "leader" };

function viewOf(raw: object): Exclude<LeaseView, "Absent"> {
  const view = readLease(raw as KubeObject);
  if (view === "Absent") throw new Error("there is no Lease");
  return view;
}

test("renewing keeps the time of acquisition, taking counts a transition, and unknown fields stay", () => {
  const spec = { holderIdentity: "pod-0", leaseTransitions: 4, acquireTime: "earlier", strategy: "foreign" };
  const taken = heldLease(viewOf(stored(spec)), address, claim);
  expect(taken).toMatchObject({
    metadata: { resourceVersion: "7", labels: { team: "edge" } },
    spec: { holderIdentity: "pod-1_ab12", leaseTransitions: 5, acquireTime: microTime(nowMs), strategy: "foreign" },
  });
  const renewed = heldLease(viewOf(taken), address, { ...claim, nowMs: nowMs + 3_000 });
  expect(renewed).toMatchObject({
    spec: { leaseTransitions: 5, acquireTime: microTime(nowMs), renewTime: microTime(nowMs + 3_000) },
  });
  expect(releasedLease(viewOf(taken), nowMs)).toMatchObject({
    metadata: { resourceVersion: "7" },
    spec: { holderIdentity: "", leaseDurationSeconds: 1, leaseTransitions: 5 },
  });
});
