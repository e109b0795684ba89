// Records what the process does as metrics, in a cluster and in a folder.
import { type BlocksView } from "../blocks/block-book.ts";
import { blockKey } from "../blocks/judge.ts";
import { type Condition, findCondition } from "../kinds/conditions.ts";
import type { Clock } from "../async/clock.ts";
import { listNames } from "../model/declared.ts";
import { rowsWith } from "../decide/progress.ts";
import { operationKinds } from "../model/operation.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import type { ReconcileOutcome } from "../run/report.ts";
import type { ForwardLogsPorts } from "../logs/forward-ports.ts";
import type { ReconcileObserver } from "../run/ports.ts";
import { isCutOff } from "../run/facts.ts";
import { instanceStatus } from "../run/status/statuses.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { RunReports } from "./work.ts";

/** The reports of a run of the instance, which are also measured. The place observes only failures and waits. */
export function measuredRun(own: RunReports, metrics: Metrics): RunReports {
  return {
    ...own,
    observer: { ...own.observer, ...measured(metrics) },
    logObserver: { ...own.logObserver, ...measuredLogs(own.logObserver, metrics) },
  };
}

function measured({ waf }: Metrics): ReconcileObserver {
  return {
    planned(instance, { operations }) {
      for (const kind of operationKinds) {
        const size = operations.filter((operation) => operation.kind === kind).length;
        waf.plan.set(nameKey(instance), size, { kind });
      }
    },
    clearTried: (instance, cause, isCleared) =>
      waf.clears.inc(nameKey(instance), { cause, result: isCleared ? "Cleared" : "Failed" }),
    orphaned: (_instance, count) => waf.orphaned.inc(count ?? 1),
    operationDone(instance, operation) {
      if (operation.kind === "AddEntry") waf.added.inc(nameKey(instance), { list: operation.list });
      if (operation.kind === "RemoveEntry") waf.removed.inc(nameKey(instance), { list: operation.list });
    },
  };
}

function measuredLogs(own: RunReports["logObserver"], { waf, logsForwarded }: Metrics): ForwardLogsPorts["observer"] {
  return {
    forwarded: ({ instance: { meta } }, entries, output) => logsForwarded(nameKey(meta), entries, output),
    lagged: (instance, lagMs) => waf.lag.set(nameKey(instance), lagMs / 1000),
    remembered: (instance, rows) => waf.remembered.set(nameKey(instance), rows),
    failed(instance, reason, fault) {
      waf.logFailures.inc(nameKey(instance), { reason });
      own.failed?.(instance, reason, fault);
    },
  };
}

/** Call this at the end of every run. @param blocks what is known about the automatic blocks of the instance */
export function measureOutcome(
  metrics: Metrics,
  clock: Clock,
  instance: ObjectName,
  { result, facts }: ReconcileOutcome,
  blocks?: BlocksView,
): void {
  const { waf } = metrics;
  const name = nameKey(instance);
  if (result.kind === "Gone") return;
  metrics.addInstance(name);
  if (facts === undefined) return;
  const { instance: declared, autoBlocks = [] } = facts.gathered;
  waf.resync.set(name, declared.resyncIntervalMs / 1000);
  // Assessed with the function that reports the facts, because a stored status may be another writer's.
  const isReady = findCondition(instanceStatus({}, facts).conditions ?? [], "Ready")?.status === "True";
  // A run that was cut off reports nothing.
  if (!isCutOff(result)) waf.ready.set(name, isReady ? 1 : 0);
  if (result.kind === "Done") waf.lastSync.set(name, clock.nowMs() / 1000);
  for (const list of listNames) {
    if (facts.plan === undefined) continue;
    for (const [state, size] of Object.entries(facts.plan.lists[list])) waf.entries.set(name, size, { list, state });
    waf.held.set(name, facts.plan.lists[list].held, { list });
    waf.contested.set(name, rowsWith(facts.plan, "Contested", [list]).length, { list });
  }
  if (blocks?.state !== "Known") return;
  const figures = autoBlocks.flatMap(({ meta }) => {
    const judgement = blocks.judgements[blockKey(meta)];
    if (judgement === undefined) return [];
    const { listed, leftOut, rows } = judgement;
    return [[nameKey(meta), { listed: listed.length, leftOut, rows: rows.matched }] as const];
  });
  metrics.autoBlocksSeen(name, new Map(figures));
}

/** Whether an object's status says that it is not Ready. */
export function saysNotReady(status: unknown): boolean {
  const { conditions = [] } = (status ?? {}) as { readonly conditions?: readonly Condition[] };
  return findCondition(conditions, "Ready")?.status === "False";
}
