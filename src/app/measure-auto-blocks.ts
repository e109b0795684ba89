// Records what the log reader publishes about automatic blocks as metrics.
import { nameKey, type ObjectName } from "../model/resource.ts";
import type { BlockPublisher } from "../reconcile/logs/forward-ports.ts";
import type { AutoBlockMetrics } from "../telemetry/metrics-auto-blocks.ts";

type Published = Parameters<BlockPublisher["publish"]>[1];

export class AutoBlockMeasure {
  readonly #metrics: AutoBlockMetrics;
  /** The WafAutoBlocks of each instance that have series. */
  readonly #known = new Map<string, ReadonlySet<string>>();

  constructor(metrics: AutoBlockMetrics) {
    this.#metrics = metrics;
  }

  published(instance: ObjectName, judgements: Published): void {
    const key = nameKey(instance);
    for (const block of this.#known.get(key) ?? []) if (!judgements.has(block)) this.#metrics.forgetAutoBlock(block);
    if (judgements.size === 0) this.#known.delete(key);
    else this.#known.set(key, new Set(judgements.keys()));
    for (const [block, { judgement }] of judgements) {
      const { entries, leftOut, rows } = judgement;
      this.#metrics.autoBlockSeen(block, { listed: entries.length, leftOut, rows: rows.matched });
    }
  }

  forget(instance: ObjectName): void {
    this.published(instance, new Map());
  }
}
