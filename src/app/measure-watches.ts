// Metrics of the watches, which are collected on every scrape.
import type { ClusterSource } from "../source/cluster/cluster-source.ts";
import type { Metrics } from "../telemetry/metrics.ts";

const neverListed = { isSynced: false, relists: 0 };

export function measureWatches(source: Pick<ClusterSource, "health">, metrics: Pick<Metrics, "watch">): void {
  for (const { plural } of source.health()) {
    metrics.watch(plural, () => source.health().find((health) => health.plural === plural) ?? neverListed);
  }
}
