// Metrics of reconcile runs by controller and result, with their duration, like those of controller-runtime.
import { Counter, Histogram } from "prom-client";
import type { Registry } from "prom-client";

/**
 * - `success`: the run completed. `error`: it failed, or threw.
 * - `requeue`: it must run again, because something changed in the meantime or a backoff has not ended.
 * - `blocked`: only an external change helps. `interrupted`: the process is stopping.
 */
export const reconcileResults = ["success", "error", "requeue", "blocked", "interrupted"] as const;
export type ReconcileResult = (typeof reconcileResults)[number];

/** The series of one controller. */
export interface MeasuredReconciles {
  ended(result: ReconcileResult, durationMs: number): void;
}

export interface ReconcileMetrics {
  /** Creates the series of a controller, at zero; call it once for each name. */
  reconciles(controller: string): MeasuredReconciles;
}

/** A run without changes takes some milliseconds; the first run of a long list may take an hour. */
const secondsBuckets = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600];

export function makeReconcileMetrics(registry: Registry): ReconcileMetrics {
  const registers = [registry];
  const labelNames = ["controller", "result"];
  const runs = new Counter({
    name: "wafsync_reconcile_total",
    help: "Reconcile runs by controller and result: success, error, requeue, blocked or interrupted.",
    labelNames,
    registers,
  });
  const durations = new Histogram({
    name: "wafsync_reconcile_duration_seconds",
    help: "Duration of reconcile runs by controller and result.",
    labelNames,
    registers,
    buckets: secondsBuckets,
  });
  return {
    reconciles(controller) {
      for (const result of reconcileResults) {
        runs.inc({ controller, result }, 0);
        durations.zero({ controller, result });
      }
      return {
        ended(result, durationMs) {
          runs.inc({ controller, result });
          durations.observe({ controller, result }, durationMs / 1000);
        },
      };
    },
  };
}
