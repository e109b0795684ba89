// Turns what passes tell into metrics.
import type { Clock } from "../async/clock.ts";
import { findCondition } from "../api/conditions.ts";
import type { Condition } from "../api/conditions.ts";
import { listNames } from "../model/declared.ts";
import type { ObjectName, ResourceMeta } from "../model/resource.ts";
import { nameKey } from "../model/resource.ts";
import type { ReconcileOutcome } from "../reconcile/converge/finish.ts";
import type { ReconcileObserver } from "../reconcile/ports.ts";
import type { Metrics } from "../telemetry/metrics.ts";

type ReadStatus = (meta: ResourceMeta) => Readonly<Record<string, unknown>> | undefined;

export function measuringObserver(metrics: Metrics): ReconcileObserver {
  return {
    planned: (instance, plan) => metrics.planMade(nameKey(instance), plan.operations),
    clearTried: (instance, cause, isCleared) => metrics.clearTried(nameKey(instance), cause, isCleared),
    orphaned: (_instance, count) => metrics.entriesOrphaned(count ?? 1),
    operationDone(instance, operation) {
      if (operation.kind === "AddEntry") metrics.entryWritten(nameKey(instance), operation.list, "Added");
      if (operation.kind === "RemoveEntry") metrics.entryWritten(nameKey(instance), operation.list, "Removed");
    },
  };
}

/** At the end of a pass. An instance that is gone loses its series. */
export function measureOutcome(
  metrics: Metrics,
  clock: Clock,
  readStatus: ReadStatus,
  instance: ObjectName,
  { result, facts }: ReconcileOutcome,
): void {
  const name = nameKey(instance);
  if (result.kind === "Gone") {
    metrics.forgetInstance(name);
    return;
  }
  metrics.addInstance(name);
  if (facts === undefined) return;
  const conditions = (readStatus(facts.gathered.instance.meta)?.["conditions"] ?? []) as readonly Condition[];
  metrics.ready(name, findCondition(conditions, "Ready")?.status === "True");
  if (result.kind === "Done") metrics.synced(name, clock.nowMs());
  for (const list of listNames) {
    const figures = facts.lists?.[list];
    if (figures !== undefined) metrics.listSeen(name, list, figures);
    if (facts.plan === undefined) continue;
    metrics.contested(name, list, facts.plan.contested.filter((item) => item.list === list).length);
  }
}
