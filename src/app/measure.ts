// Records what the operator does as metrics.
import { findCondition } from "../kinds/conditions.ts";
import type { Clock } from "../async/clock.ts";
import { listNames } from "../model/declared.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import type { ReconcileOutcome } from "../run/report.ts";
import type { BlockPublisher } from "../logs/forward-ports.ts";
import type { ReconcileObserver } from "../run/ports.ts";
import { isCutOff } from "../run/facts.ts";
import { instanceStatus } from "../run/status/instance-status.ts";
import type { AutoBlockMetrics } from "../telemetry/metrics-sources.ts";
import type { Metrics } from "../telemetry/metrics.ts";

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

type Published = Parameters<BlockPublisher["publish"]>[1];

/** What the log reader publishes about automatic blocks. */
export class AutoBlockMeasure {
  readonly #metrics: AutoBlockMetrics;
  /** The WafAutoBlocks of each instance that have series. */
  readonly #known = new Map<string, ReadonlySet<string>>();

  readonly #isDeclared: (block: string, uid: string) => boolean;

  /** @param isDeclared whether the WafAutoBlock `namespace/name` exists with this UID */
  constructor(metrics: AutoBlockMetrics, isDeclared: (block: string, uid: string) => boolean) {
    this.#metrics = metrics;
    this.#isDeclared = isDeclared;
  }

  published(instance: ObjectName, judgements: Published): void {
    const key = nameKey(instance);
    const byBlock = new Map(
      [...judgements].flatMap(([blockKey, judgement]) => {
        const [block = "", uid = ""] = blockKey.split(" ");
        return this.#isDeclared(block, uid) ? [[block, judgement] as const] : [];
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
