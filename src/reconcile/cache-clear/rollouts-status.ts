// The part of an instance's status about clears after rollouts: for each listed workload, the state of its rollout and the next
// step.
import { formatTime } from "../../api/conditions.ts";
import type { WafInstanceStatus } from "../../api/waf-instance.ts";
import { shortened } from "../../model/sentence.ts";
import type { RolloutRecord, SeenWorkload, WorkloadSight } from "../../model/workload.ts";
import { workloadKey } from "../../model/workload.ts";
import type { ClearMemory } from "./clear-records.ts";
import { clearTroubleOf } from "./advance-clears.ts";
import { decideRolloutClears, rolloutsIgnored } from "./rollout-clears.ts";
import type { RunFacts } from "../facts.ts";

const messageLengthMax = 1024;

type CacheClearStatus = NonNullable<WafInstanceStatus["cacheClear"]>;
type WorkloadStatus = CacheClearStatus["workloads"][number];

/** `status.cacheClear`; undefined if no workload is listed. While the inventory is unknown, the former value stays. */
export function rolloutsStatus(
  before: Partial<WafInstanceStatus>,
  facts: RunFacts,
  memory: Pick<ClearMemory, "notBefore" | "rolloutFault">,
): WafInstanceStatus["cacheClear"] {
  const { gathered, inventory, nowMs } = facts;
  const { instance, workloads } = gathered;
  if (instance.cacheClear.afterRolloutOf.length === 0) return undefined;
  if (workloads === undefined) return { message: rolloutsIgnored, workloads: [] };
  if (inventory === undefined) return before.cacheClear;
  const records = new Map(inventory.rollouts.map((record) => [record.workload, record]));
  const trouble = clearTroubleOf(facts);
  const { pending, nextMs } = decideRolloutClears(memory, { gathered, records: inventory.rollouts, trouble, nowMs });
  const clearedMs = Math.max(...inventory.rollouts.map(({ clearedAtMs }) => clearedAtMs ?? 0));
  const attempts = Math.max(0, ...inventory.rollouts.map((record) => record.attempts));
  const message = attempts > 0 ? memory.rolloutFault : undefined;
  return {
    ...(clearedMs > 0 ? { lastClearTime: formatTime(clearedMs) } : {}),
    ...(attempts > 0 ? { failedAttempts: attempts } : {}),
    ...(message === undefined ? {} : { message: shortened(message, messageLengthMax) }),
    workloads: workloads.map((sight) =>
      workloadStatus(sight, records.get(workloadKey(sight.workload)), pending, nextMs),
    ),
  };
}

function workloadStatus(
  sight: WorkloadSight,
  record: RolloutRecord | undefined,
  pending: readonly string[],
  nextMs: number | undefined,
): WorkloadStatus {
  const { kind, namespace, name } = sight.workload;
  const ref = { kind, namespace, name };
  if (sight.state === "Unseen") return { ...ref, state: "NotSeen", message: sight.problem };
  const { revision, generation } = sight.seen;
  const seen = { ...ref, ...(revision === "" ? {} : { revision }), generation };
  return { ...seen, ...stateOf(sight.seen, record, pending.includes(workloadKey(sight.workload)), nextMs) };
}

function stateOf(
  { progress, revision, content, uid, isRolledOut, isPaused }: SeenWorkload,
  record: RolloutRecord | undefined,
  isPending: boolean,
  nextMs: number | undefined,
): Pick<WorkloadStatus, "state" | "message"> {
  if (isPending) {
    const when = nextMs === undefined ? "" : ` The clear is due at ${formatTime(nextMs)}.`;
    return { state: "Pending", message: `The rollout is complete, but the cache has not been cleared yet.${when}` };
  }
  if (progress.state === "Untracked") return { state: "Untracked", message: progress.message };
  const isHandled = record !== undefined && !record.hasBegun && record.uid === uid && record.revision === revision;
  if (isPaused && isHandled && record.content !== content) {
    return { state: "Paused", message: "The workload is paused: later changes are not rolled out." };
  }
  if (isHandled) return { state: "Handled", message: handledMessage(record, progress.state === "Complete") };
  if (isRolledOut)
    return {
      state: "Pending",
      message: "The rollout is complete, but the instance delays the clear: see its conditions.",
    };
  return { state: progress.state === "Failed" ? "Failed" : "RollingOut", message: progress.message };
}

function handledMessage({ clearedAtMs }: RolloutRecord, isComplete: boolean): string {
  const how =
    clearedAtMs === undefined
      ? "This revision was already rolled out, so the cache was not cleared for it."
      : `The cache was cleared for this revision at ${formatTime(clearedAtMs)}.`;
  return isComplete ? how : `${how} The current change, such as scaling, is not a new rollout.`;
}
