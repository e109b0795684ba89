// Decides who may hold the Lease, without I/O. Two rules make it safe regardless of the clocks of the processes: a holder
// counts from the start of its last successful renewal, by whichever of its two clocks advanced more; a candidate counts
// from when it saw the record change, only by monotonic time. The times inside the record are never used.
// A holder stops writing after 15 s and abandons its last write by 25 s, and no candidate takes its Lease before 30 s.
import { isRecord, type KubeObject, type KubeObjectMeta, microTime } from "./kube-object.ts";
import type { ObjectAddress } from "./resource-path.ts";

/** A candidate takes the Lease if it has not changed for this long. */
const leaseDurationMs = 30_000;
/** A holder that has not renewed for this long has lost the Lease, and writes nothing from then on. */
const renewDeadlineMs = 15_000;
const retryPeriodMs = 3_000;
const requestTimeoutMs = 5_000;
/** How long a new holder waits before its first write, unless the last one had released the Lease. */
const settlingMs = 10_000;
/** A longer duration in the record of another holder is ignored. */
const foreignDurationMsMax = 300_000;
/** After a failed request, a holder retries without waiting for the whole period. */
const holderRetryMs = 1_000;
/** Candidates wait up to this factor longer, so that they do not all try at the same time. */
const candidateJitter = 0.2;

/** One moment on both clocks: monotonic time can stand still in a suspended machine, wall time can be set back. */
export interface Instant {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** An upper bound of the elapsed time: the larger of both differences. */
export function elapsedMs(since: Instant, now: Instant): number {
  return Math.max(now.monotonicMs - since.monotonicMs, now.wallMs - since.wallMs);
}

interface Hold {
  /** The start of the last renewal that succeeded. */
  readonly validSince: Instant;
  /** Monotonic. */
  readonly writesFromMs: number;
}

export interface ElectorState {
  /** The result of the last request; undefined if the Lease has to be read before anything else. */
  readonly seen: LeaseView | undefined;
  /** The last record of another holder, and since when (monotonic) it has been unchanged. */
  readonly other: { readonly resourceVersion: string; readonly sinceMs: number } | undefined;
  readonly hold: Hold | undefined;
  /** Why the Lease was lost; undefined unless it was. It is never regained: the process ends. */
  readonly lost: string | undefined;
}

export const initialElectorState: ElectorState = {
  seen: undefined,
  other: undefined,
  hold: undefined,
  lost: undefined,
};

/** `over` is what the written Lease replaces; `settleMs` applies to the hold that a success would begin. */
export type LeaseAct =
  | { readonly kind: "Read" }
  | { readonly kind: "Wait" }
  | { readonly kind: "Write"; readonly over: LeaseView; readonly settleMs: number }
  | { readonly kind: "Lose"; readonly reason: string };

/** Whether a hold was not renewed in time. If so, it is lost for good. */
export function isHoldExpired({ hold }: ElectorState, now: Instant): boolean {
  return hold !== undefined && elapsedMs(hold.validSince, now) >= renewDeadlineMs;
}

/** The next act. */
export function nextLeaseAct(state: ElectorState, identity: string, now: Instant): LeaseAct {
  const { seen, hold, other } = state;
  if (state.lost !== undefined) return { kind: "Lose", reason: state.lost };
  if (isHoldExpired(state, now)) return { kind: "Lose", reason: "it could not be renewed in time" };
  if (seen === undefined) return { kind: "Read" };
  const write = (settleMs: number): LeaseAct => ({ kind: "Write", over: seen, settleMs });
  // The Lease may have been deleted while another holder still writes. If no Lease was ever seen, it is a new one.
  if (seen === "Absent") return write(other === undefined ? 0 : settlingMs);
  if (seen.holder === "") return write(seen.durationMs === releasedDurationMs ? 0 : settlingMs);
  if (seen.holder === identity) return write(settlingMs);
  if (hold !== undefined) return { kind: "Lose", reason: `${seen.holder} has taken it` };
  const durationMs = Math.max(leaseDurationMs, Math.min(seen.durationMs, foreignDurationMsMax));
  const unchangedMs = now.monotonicMs - (other?.sinceMs ?? now.monotonicMs);
  return unchangedMs >= durationMs ? write(settlingMs) : { kind: "Wait" };
}

/** The state after a read has shown the Lease. */
export function afterLeaseRead(state: ElectorState, seen: LeaseView, identity: string, now: Instant): ElectorState {
  if (seen === "Absent" || seen.holder === "" || seen.holder === identity) return { ...state, seen };
  const { resourceVersion } = seen.metadata;
  if (state.other?.resourceVersion === resourceVersion) return { ...state, seen };
  return { ...state, seen, other: { resourceVersion, sinceMs: now.monotonicMs } };
}

/** The state after the Lease was created, taken or renewed; `started` is when the request began. */
export function afterLeaseWrite(
  state: ElectorState,
  seen: LeaseView,
  { started, now, settleMs }: { readonly started: Instant; readonly now: Instant; readonly settleMs: number },
): ElectorState {
  const { writesFromMs } = state.hold ?? { writesFromMs: now.monotonicMs + settleMs };
  return { ...state, seen, hold: { writesFromMs, validSince: started } };
}

/** The state after a failed request, or one with an unknown outcome: the Lease must be read before anything else. */
export function afterLeaseFailure(state: ElectorState): ElectorState {
  return { ...state, seen: undefined };
}

/** Whether a protected write may start now. */
export function mayWriteUnder(state: ElectorState, now: Instant): boolean {
  const { hold, lost } = state;
  if (hold === undefined || lost !== undefined || isHoldExpired(state, now)) return false;
  return now.monotonicMs >= hold.writesFromMs;
}

/** How long to wait before the next act, in whole milliseconds, at least one; never beyond the renew deadline of a hold. */
export function leasePauseMs({ hold, seen }: ElectorState, now: Instant, random: () => number): number {
  if (hold === undefined) return retryPeriodMs * (1 + candidateJitter * random());
  const sinceMs = elapsedMs(hold.validSince, now);
  const wantedMs = seen === undefined ? holderRetryMs : retryPeriodMs - sinceMs;
  const untilWritesMs = hold.writesFromMs - now.monotonicMs;
  const soonestMs = Math.min(wantedMs, renewDeadlineMs - sinceMs, untilWritesMs > 0 ? untilWritesMs : wantedMs);
  return Math.max(Math.ceil(soonestMs), 1);
}

/** How long the next request may take, in milliseconds: a response after the renew deadline is useless for a holder. */
export function leaseRequestTimeoutMs({ hold }: ElectorState, now: Instant): number {
  if (hold === undefined) return requestTimeoutMs;
  const leftMs = renewDeadlineMs - elapsedMs(hold.validSince, now);
  return Math.max(Math.ceil(Math.min(requestTimeoutMs, leftMs)), 1);
}

// The Lease object as this process reads and writes it. The times in it are only informational: no process compares them.

export type LeaseView =
  | "Absent"
  | {
      /** Renews it at least every `durationMs`. Empty if there is none. */
      readonly holder: string;
      readonly durationMs: number;
      /** As the server returned them: fields of other writers are sent back unchanged. */
      readonly metadata: KubeObjectMeta;
      readonly spec: Readonly<Record<string, unknown>>;
    };

/** The duration of a Lease that its last holder released properly, after its work had ended. */
const releasedDurationMs = 1000;

/** A Lease as the server returned it. */
export function readLease({ metadata, spec: raw }: KubeObject & { readonly spec?: unknown }): LeaseView {
  const spec = isRecord(raw) ? raw : {};
  const { holderIdentity: holder, leaseDurationSeconds: seconds } = spec;
  return {
    holder: typeof holder === "string" ? holder : "",
    durationMs: typeof seconds === "number" ? seconds * 1000 : 0,
    metadata,
    spec,
  };
}

/** The body of the request that creates, takes or renews the Lease. */
export function heldLease(
  over: LeaseView,
  { namespace, name }: ObjectAddress,
  { identity, nowMs }: { readonly identity: string; readonly nowMs: number },
): object {
  const { metadata, spec } = over === "Absent" ? { metadata: { namespace, name }, spec: {} } : over;
  const { holderIdentity, leaseTransitions } = spec as Readonly<Record<string, unknown>>;
  const transitions = typeof leaseTransitions === "number" ? leaseTransitions + 1 : 0;
  const taken = { holderIdentity: identity, acquireTime: microTime(nowMs), leaseTransitions: transitions };
  return leaseOf(metadata, {
    ...spec,
    ...(holderIdentity !== identity && taken),
    leaseDurationSeconds: leaseDurationMs / 1000,
    renewTime: microTime(nowMs),
  });
}

/** The body of the request that releases the Lease. */
export function releasedLease({ metadata, spec }: Exclude<LeaseView, "Absent">, nowMs: number): object {
  const leaseDurationSeconds = releasedDurationMs / 1000;
  return leaseOf(metadata, { ...spec, holderIdentity: "", leaseDurationSeconds, renewTime: microTime(nowMs) });
}

function leaseOf(metadata: object, spec: object): object {
  return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec };
}
