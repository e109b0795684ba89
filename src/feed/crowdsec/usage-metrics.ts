// The report of a remediation component to CrowdSec: how many decisions it applies, by their origin, and how many requests they
// blocked. The total number of requests (`processed`) is unknown, because a WAF logs only blocked ones. `metrics` is an array,
// contrary to the vendor's documentation: the server rejects an object.
import type { DroppedCount } from "../../plan/feeds/blocked-requests.ts";
import type { OriginCount } from "../../plan/feeds/crowdsec-decisions.ts";

export interface UsageReport {
  readonly version: string;
  readonly operatingSystem: { readonly name: string; readonly version: string };
  readonly startedAtMs: number;
  readonly nowMs: number;
  readonly windowMs: number;
  readonly active: readonly OriginCount[];
  readonly dropped: readonly DroppedCount[];
}

export function usageMetrics(report: UsageReport): object {
  const { version, operatingSystem, startedAtMs, nowMs, windowMs, active, dropped } = report;
  const decisions = active.map(({ origin, ipType, count }) => ({
    name: "active_decisions",
    value: count,
    unit: "ip",
    labels: { origin, ip_type: ipType },
  }));
  const requests = dropped.map(({ origin, remediation, ipType, count }) => ({
    name: "dropped",
    value: count,
    unit: "request",
    labels: { origin, remediation, ip_type: ipType },
  }));
  const meta = { window_size_seconds: Math.round(windowMs / 1000), utc_now_timestamp: seconds(nowMs) };
  const component = {
    type: "wafsync",
    version,
    utc_startup_timestamp: seconds(startedAtMs),
    os: operatingSystem,
    feature_flags: [],
    metrics: [{ meta, items: [...decisions, ...requests] }],
  };
  return { remediation_components: [component] };
}

function seconds(timeMs: number): number {
  return Math.floor(timeMs / 1000);
}
