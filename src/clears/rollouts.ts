// Clears the cache after rollouts, once for each: a complete rollout is a cache clear without an object, whose trigger is the
// revision. The record of the instance says which rollout of each listed workload was handled last:
//
//   handled ──another rollout──▶ begun ──complete──▶ clear ──after minInterval──▶ call ──▶ handled
//
// A rollout is recorded when it has begun, so that its rollback counts too.
import { formatTime, shortened } from "../model/texts.ts";
import type { WafInstanceStatus } from "../kinds/waf-instance.ts";
import type { DeclaredCacheClear } from "../model/declared.ts";
import type { Gathered } from "../model/gathered.ts";
import type { HandledTrigger } from "../model/inventory.ts";
import { nameKey } from "../model/resource.ts";
import { isWorkload, sameOr } from "./cache-clear.ts";

/** `namespace/name` of its object, or its workload. */
export function clearName({ meta, workload = nameKey(meta) }: DeclaredCacheClear): string {
  return workload;
}

/** Observed rollouts follow the stored ones that they replace. */
function recordOf(workload: string, handled: readonly HandledTrigger[]): HandledTrigger | undefined {
  return handled.findLast(({ cacheClear }) => cacheClear === workload);
}

/**
 * The records, with what is observed now. Workloads that are no longer listed are forgotten. A rollout that was complete when the workload
 * was first seen needs no clear; one in progress does. A changed annotation, such as the consent of another namespace, is no rollout, but
 * looks like one until the controller has observed it.
 */
export function observeRollouts(
  { workloads = [] }: Pick<Gathered, "workloads">,
  handled: readonly HandledTrigger[],
): readonly HandledTrigger[] {
  const listed = workloads.flatMap(({ workload, state, rollout }): HandledTrigger | readonly HandledTrigger[] => {
    const known = recordOf(workload, handled);
    const isComplete = state === "Complete";
    if (state === "NotSeen" || state === "Unobserved") return known ?? [];
    if (known === undefined) {
      return { cacheClear: workload, trigger: isComplete ? rollout : "", handledAtMs: 0 };
    }
    const hasBegun = known.trigger !== "" && known.trigger !== rollout && !isComplete;
    return hasBegun ? { ...known, trigger: "" } : known;
  });
  return sameOr(handled, [...listed, ...handled.filter(({ cacheClear }) => !isWorkload(cacheClear))]);
}

/** The clears for complete rollouts that are not handled. They never fail: wafsync retries until the cache is cleared. */
export function rolloutClears(
  { instance, workloads = [] }: Pick<Gathered, "instance" | "workloads">,
  handled: readonly HandledTrigger[],
): DeclaredCacheClear[] {
  const pending = workloads.filter(
    ({ workload, state, rollout }) => state === "Complete" && rollout !== recordOf(workload, handled)?.trigger,
  );
  return pending.map(({ workload, rollout }) => ({
    meta: instance.meta,
    instance: instance.meta,
    workload,
    trigger: rollout,
    suspend: false,
    backoffLimit: Number.POSITIVE_INFINITY,
    activeDeadlineMs: Number.POSITIVE_INFINITY,
    ttlAfterFinishedMs: undefined,
  }));
}

/** Without a cluster, there are no workloads: what to do instead. */
export function rolloutsIgnored({ instance, workloads }: Gathered) {
  if (workloads !== undefined || instance.cacheClear.afterRolloutOf.length === 0) return undefined;
  const message =
    "spec.cacheClear.afterRolloutOf has no effect without a cluster: there are no rollouts to follow. Use a WafCacheClear or wafsync clear-cache instead.";
  return { reason: "RolloutsIgnored", message };
}

type RolloutStatus = NonNullable<WafInstanceStatus["rollouts"]>[number];

/** The state of each listed workload; undefined if there is none. @param failureOf The error of the last call; empty if it did not fail */
export function rolloutsStatus(
  gathered: Gathered,
  handled: readonly HandledTrigger[],
  failureOf: (pending: DeclaredCacheClear) => string,
): RolloutStatus[] | undefined {
  const pending = new Map(rolloutClears(gathered, handled).map((clear) => [clear.workload, clear]));
  const next = gathered.workloads?.map(({ workload, state, rollout, why = "" }): RolloutStatus => {
    if (state === "NotSeen") return { workload, state, message: why };
    const revision = `Revision ${rollout.slice(rollout.indexOf("/") + 1)}`;
    const clear = pending.get(workload);
    if (clear !== undefined) {
      const why = failureOf(clear) || "The clear waits for spec.cacheClear.minInterval, or for the instance.";
      return { workload, state: "Pending", message: shortened(`${revision} is rolled out. ${why}`, 1024) };
    }
    const { trigger, handledAtMs = 0 } = recordOf(workload, handled) ?? {};
    if (trigger !== rollout) {
      return { workload, state: "RollingOut", message: `${revision} is not complete: see \`kubectl rollout status\`.` };
    }
    const cleared =
      handledAtMs === 0
        ? "was rolled out before wafsync saw it, so the cache was not cleared"
        : `was followed by a clear at ${formatTime(handledAtMs)}`;
    return { workload, state: "Handled", message: `${revision} ${cleared}.` };
  });
  return next?.length === 0 ? undefined : next;
}
