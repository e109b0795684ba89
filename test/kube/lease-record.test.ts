import { expect, test } from "@jest/globals";
import { heldLease, newLease, readLease, releasedLease } from "../../src/kube/lease-record.ts";
import type { LeaseView } from "../../src/kube/lease-record.ts";
import { microTime, secondsTime } from "../../src/kube/kube-object.ts";

const nowMs = Date.UTC(2026, 10, 21, 12, 0, 0, 123);
const holding = { identity: "pod-1_ab12", durationMs: 30_000, nowMs };
const stored = (spec: unknown) => ({
  metadata: { name: "leader", resourceVersion: "7", labels: { team: "edge" } },
  spec,
});

function objectOf(view: LeaseView | undefined) {
  if (view === undefined || view.state === "Absent") throw new Error("there is no object");
  return view.object;
}

test("times have six decimal digits as MicroTime, and none as Time", () => {
  expect(microTime(nowMs)).toBe("2026-11-21T12:00:00.123000Z");
  expect(secondsTime(nowMs)).toBe("2026-11-21T12:00:00Z");
});

test("a record is held by the holder that it names, free without one, and released if its duration is one second", () => {
  expect(readLease(stored({ holderIdentity: "a", leaseDurationSeconds: 15 }))).toMatchObject({
    state: "Held",
    holder: "a",
    durationMs: 15_000,
    resourceVersion: "7",
  });
  expect(readLease(stored({ holderIdentity: "", leaseDurationSeconds: 1 }))).toMatchObject({
    state: "Free",
    released: true,
  });
  expect(readLease(stored({ holderIdentity: null }))).toMatchObject({ state: "Free", released: false });
  expect(readLease(stored(undefined))).toMatchObject({ state: "Free", released: false });
  for (const wrong of [undefined, null, "text", {}, { metadata: {} }]) expect(readLease(wrong)).toBeUndefined();
});

test("a new record has all fields that a Lease needs", () => {
  expect(newLease({ namespace: "wafsync", name: "leader" }, holding)).toStrictEqual({
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { namespace: "wafsync", name: "leader" },
    spec: {
      holderIdentity: "pod-1_ab12",
      leaseDurationSeconds: 30,
      acquireTime: "2026-11-21T12:00:00.123000Z",
      renewTime: "2026-11-21T12:00:00.123000Z",
      leaseTransitions: 0,
    },
  });
});

test("renewing keeps the time of acquisition, taking counts a transition, and unknown fields stay", () => {
  const spec = { holderIdentity: "pod-0", leaseTransitions: 4, acquireTime: "earlier", strategy: "foreign" };
  const taken = heldLease(objectOf(readLease(stored(spec))), holding);
  expect(taken).toMatchObject({
    metadata: { resourceVersion: "7", labels: { team: "edge" } },
    spec: { holderIdentity: "pod-1_ab12", leaseTransitions: 5, acquireTime: microTime(nowMs), strategy: "foreign" },
  });
  const renewed = heldLease(objectOf(readLease(taken)), { ...holding, nowMs: nowMs + 3_000 });
  expect(renewed).toMatchObject({
    spec: { leaseTransitions: 5, acquireTime: microTime(nowMs), renewTime: microTime(nowMs + 3_000) },
  });
  expect(releasedLease(objectOf(readLease(taken)), nowMs)).toMatchObject({
    metadata: { resourceVersion: "7" },
    spec: { holderIdentity: "", leaseDurationSeconds: 1, leaseTransitions: 5 },
  });
});
