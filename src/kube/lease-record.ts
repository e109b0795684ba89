// A Lease object as this process reads and writes it. The times in it are only informational: no process compares them.
import type { ObjectAddress } from "./resource-path.ts";
import { isRecord } from "./kube-object.ts";
import { microTime } from "./kube-object.ts";

/**
 * - `Free`: it has no holder; `released` if the last holder released it properly, after its work had ended.
 * - `Held`: by `holder`, which renews it at least every `durationMs`.
 */
export type LeaseView =
  | { readonly state: "Absent" }
  | {
      readonly state: "Free";
      readonly released: boolean;
      readonly resourceVersion: string;
      readonly object: LeaseObject;
    }
  | {
      readonly state: "Held";
      readonly holder: string;
      readonly durationMs: number;
      readonly resourceVersion: string;
      readonly object: LeaseObject;
    };

/** The object as the server returned it: fields of other writers are sent back unchanged. */
export interface LeaseObject {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** The duration in the record of a released Lease. */
const releasedDurationSeconds = 1;

/** Reads the response of the server; undefined if it is not a Lease with a resourceVersion. */
export function readLease(raw: unknown): LeaseView | undefined {
  if (!isRecord(raw) || !isRecord(raw["metadata"])) return undefined;
  const resourceVersion = raw["metadata"]["resourceVersion"];
  if (typeof resourceVersion !== "string") return undefined;
  const spec = isRecord(raw["spec"]) ? raw["spec"] : {};
  const object = { metadata: raw["metadata"], spec };
  const holder = spec["holderIdentity"];
  const seconds = spec["leaseDurationSeconds"];
  if (typeof holder !== "string" || holder === "") {
    return { state: "Free", released: seconds === releasedDurationSeconds, resourceVersion, object };
  }
  const durationMs = typeof seconds === "number" ? seconds * 1000 : 0;
  return { state: "Held", holder, durationMs, resourceVersion, object };
}

interface Holding {
  readonly identity: string;
  readonly durationMs: number;
  readonly nowMs: number;
}

/** The body of the request that creates the Lease, held by `identity`. */
export function newLease({ namespace, name }: ObjectAddress, holding: Holding): object {
  const { identity, durationMs, nowMs } = holding;
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: namespace === undefined ? { name } : { namespace, name },
    spec: {
      holderIdentity: identity,
      leaseDurationSeconds: Math.round(durationMs / 1000),
      acquireTime: microTime(nowMs),
      renewTime: microTime(nowMs),
      leaseTransitions: 0,
    },
  };
}

/** The body of the request that takes or renews the Lease, with the resourceVersion that was read. */
export function heldLease(object: LeaseObject, { identity, durationMs, nowMs }: Holding): object {
  const { spec } = object;
  const transitions = typeof spec["leaseTransitions"] === "number" ? spec["leaseTransitions"] : 0;
  const taken =
    spec["holderIdentity"] === identity
      ? {}
      : { holderIdentity: identity, acquireTime: microTime(nowMs), leaseTransitions: transitions + 1 };
  const leaseDurationSeconds = Math.round(durationMs / 1000);
  const next = { ...spec, ...taken, leaseDurationSeconds, renewTime: microTime(nowMs) };
  return whole(object, next);
}

/** The body of the request that releases the Lease. */
export function releasedLease(object: LeaseObject, nowMs: number): object {
  const leaseDurationSeconds = releasedDurationSeconds;
  return whole(object, { ...object.spec, holderIdentity: "", leaseDurationSeconds, renewTime: microTime(nowMs) });
}

function whole({ metadata }: LeaseObject, spec: object): object {
  return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec };
}
