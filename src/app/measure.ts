// Records what the process does as metrics, in a cluster and in a folder.
import { type Condition, findCondition } from "../kinds/conditions.ts";
import type { Clock } from "../async/clock.ts";
import { listNames } from "../model/declared.ts";
import { nameKey, nameOfKey, type ObjectName } from "../model/resource.ts";
import type { ReconcileOutcome } from "../run/report.ts";
import type { BlockPublisher, ForwardLogsPorts } from "../logs/forward-ports.ts";
import type { ReconcileObserver } from "../run/ports.ts";
import { isCutOff } from "../run/facts.ts";
import { instanceStatus } from "../run/status/instance-status.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { Place, RunReports } from "./work.ts";

/** The reports of a run of the instance, which are also measured. */
export function measuredRun(own: RunReports, instance: ObjectName, metrics: Metrics, clock: Clock): RunReports {
  return {
    ...own,
    observer: measured(own.observer, metrics),
    logObserver: measuredLogs(own.logObserver, metrics),
    onOutcome(outcome, result, durationMs) {
      own.onOutcome?.(outcome, result, durationMs);
      measureOutcome(metrics, clock, instance, outcome);
    },
  };
}

function measured(own: ReconcileObserver, metrics: Metrics): ReconcileObserver {
  return {
    ...own,
    planned(instance, plan) {
      metrics.planMade(nameKey(instance), plan.operations);
      own.planned?.(instance, plan);
    },
    clearTried(instance, cause, isCleared) {
      metrics.clearTried(nameKey(instance), cause, isCleared);
      own.clearTried?.(instance, cause, isCleared);
    },
    orphaned(instance, count) {
      metrics.entriesOrphaned(count ?? 1);
      own.orphaned?.(instance, count);
    },
    operationDone(instance, operation, left) {
      if (operation.kind === "AddEntry") metrics.entryWritten(nameKey(instance), operation.list, "Added");
      if (operation.kind === "RemoveEntry") metrics.entryWritten(nameKey(instance), operation.list, "Removed");
      own.operationDone?.(instance, operation, left);
    },
  };
}

function measuredLogs(own: RunReports["logObserver"], metrics: Metrics): ForwardLogsPorts["observer"] {
  return {
    forwarded: ({ instance: { meta } }, entries, output) => metrics.logsForwarded(nameKey(meta), entries, output),
    lagged: (instance, lagMs) => metrics.logsLagged(nameKey(instance), lagMs),
    remembered: (instance, rows) => metrics.logsRemembered(nameKey(instance), rows),
    failed(instance, reason, fault) {
      metrics.logForwardingFailed(nameKey(instance), reason);
      own.failed?.(instance, reason, fault);
    },
  };
}

/** Call this at the end of every run. */
export function measureOutcome(metrics: Metrics, clock: Clock, instance: ObjectName, outcome: ReconcileOutcome): void {
  const { result, facts } = outcome;
  const name = nameKey(instance);
  if (result.kind === "Gone") return;
  metrics.addInstance(name);
  if (facts === undefined) return;
  metrics.resyncs(name, facts.gathered.instance.resyncIntervalMs);
  // Assessed with the function that reports the facts, because a stored status may be another writer's.
  const isReady = findCondition(instanceStatus({}, facts, undefined).conditions ?? [], "Ready")?.status === "True";
  // A run that was cut off reports nothing.
  if (!isCutOff(result)) metrics.ready(name, isReady);
  if (result.kind === "Done") metrics.synced(name, clock.nowMs());
  for (const list of listNames) {
    const figures = facts.plan?.lists[list];
    if (figures !== undefined) metrics.listSeen(name, list, figures);
    if (facts.plan === undefined) continue;
    metrics.contested(name, list, facts.plan.contested.filter((item) => item.list === list).length);
  }
}

/** Whether an object's status says that it is not Ready. */
export function saysNotReady(status: unknown): boolean {
  const { conditions = [] } = (status ?? {}) as { readonly conditions?: readonly Condition[] };
  return findCondition(conditions, "Ready")?.status === "False";
}

type Published = Parameters<BlockPublisher["publish"]>[1];

/** What the log reader publishes about automatic blocks. */
export class AutoBlockMeasure {
  readonly #metrics: Metrics;
  /** The WafAutoBlocks of each instance that have series. */
  readonly #known = new Map<string, ReadonlySet<string>>();

  readonly #isDeclared: Place["hasAutoBlock"];

  constructor(metrics: Metrics, isDeclared: Place["hasAutoBlock"]) {
    this.#metrics = metrics;
    this.#isDeclared = isDeclared;
  }

  published(instance: ObjectName, judgements: Published): void {
    const key = nameKey(instance);
    const byBlock = new Map(
      [...judgements].flatMap(([blockKey, judgement]) => {
        const [block = "", uid = ""] = blockKey.split(" ");
        return this.#isDeclared(nameOfKey(block), uid) ? [[block, judgement] as const] : [];
      }),
    );
    for (const block of this.#known.get(key) ?? []) if (!byBlock.has(block)) this.#metrics.forgetAutoBlock(block);
    if (byBlock.size === 0) this.#known.delete(key);
    else this.#known.set(key, new Set(byBlock.keys()));
    for (const [block, { entries, leftOut, rows }] of byBlock) {
      this.#metrics.autoBlockSeen(block, { listed: entries.length, leftOut, rows: rows.matched });
    }
  }

  forget(instance: ObjectName): void {
    this.published(instance, new Map());
  }
}
