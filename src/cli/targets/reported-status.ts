// Reads the reported status of instances and rules. Commands print it, and wait for it to change.
import type { Condition } from "../../api/conditions.ts";
import { findCondition } from "../../api/conditions.ts";
import type { HeldGroup } from "../../api/waf-instance.ts";
import type { OnHold } from "./target.ts";

/** The API accepts one call at a time. */
export const busy = {
  ok: false,
  problem: "wafsync is already writing to this WAF, which accepts one call at a time.",
} as const;

export interface Reported {
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
  readonly entries?: { readonly desired?: number; readonly foreign?: number };
}

export interface Progress {
  readonly state: "Settled" | "Left" | "Open";
  /** Why it is not settled. */
  readonly message: string;
}

/** Whether the status reports ongoing work on the object. */
export function isReconciling(status: unknown): boolean {
  return findCondition(((status ?? {}) as Reported).conditions ?? [], "Reconciling")?.status === "True";
}

/** Whether the entries of a rule are on its list. */
export function isReportedSynced(status: unknown): boolean {
  const synced = findCondition(((status ?? {}) as Reported).conditions ?? [], "Synced");
  return synced?.status === "True" && synced.reason === "Synced";
}

/** The progress of a rule, as reported for this generation or a later one. */
export function progressOf(status: Reported | undefined, generation: number): Progress {
  const { conditions = [], observedGeneration = -1 } = status ?? {};
  if (observedGeneration < generation)
    return { state: "Open", message: "No reconcile run has processed the rule yet." };
  const accepted = findCondition(conditions, "Accepted");
  if (accepted?.status === "False") return { state: "Left", message: accepted.message };
  const synced = findCondition(conditions, "Synced");
  if (synced?.status === "True") return { state: "Settled", message: "" };
  const message = synced?.message ?? "No reconcile run has reported on the rule yet.";
  const isStuck = findCondition(conditions, "Stalled")?.status === "True";
  return { state: isStuck ? "Left" : "Open", message };
}

export function onHoldIn(status: unknown): OnHold {
  const { heldPlan, removalsOnHold = [] } = (status ?? {}) as {
    readonly heldPlan?: string;
    readonly removalsOnHold?: readonly HeldGroup[];
  };
  return { hash: heldPlan === "" ? undefined : heldPlan, groups: removalsOnHold };
}
