// Records the results of reconcile runs as metrics.
import type { Clock } from "../async/clock.ts";
import { listNames } from "../model/declared.ts";
import type { ObjectName } from "../model/resource.ts";
import { nameKey } from "../model/resource.ts";
import type { ReconcileOutcome } from "../reconcile/converge/finish.ts";
import type { ReconcileObserver } from "../reconcile/ports.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { readinessOf } from "./readiness.ts";

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

/** Call this at the end of every run. Removes the series of an instance that no longer exists. */
export function measureOutcome(metrics: Metrics, clock: Clock, instance: ObjectName, outcome: ReconcileOutcome): void {
  const { result, facts } = outcome;
  const name = nameKey(instance);
  if (result.kind === "Gone") {
    metrics.forgetInstance(name);
    return;
  }
  metrics.addInstance(name);
  if (facts === undefined) return;
  metrics.resyncs(name, facts.gathered.instance.resyncIntervalMs);
  const isReady = readinessOf(outcome);
  if (isReady !== undefined) metrics.ready(name, isReady);
  if (result.kind === "Done") metrics.synced(name, clock.nowMs());
  for (const list of listNames) {
    const figures = facts.lists?.[list];
    if (figures !== undefined) metrics.listSeen(name, list, figures);
    if (facts.plan === undefined) continue;
    metrics.contested(name, list, facts.plan.contested.filter((item) => item.list === list).length);
  }
}
