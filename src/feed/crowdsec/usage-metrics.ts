// The report of a remediation component to CrowdSec: the number of applied decisions, by origin. `metrics` is an array, in
// contrast to the vendor's documentation: the server rejects an object.
import type { OriginCount } from "../../plan/feeds/crowdsec-decisions.ts";

export interface UsageReport {
  readonly version: string;
  readonly operatingSystem: { readonly name: string; readonly version: string };
  readonly startedAtMs: number;
  readonly nowMs: number;
  readonly windowMs: number;
  readonly active: readonly OriginCount[];
}

export function usageMetrics({ version, operatingSystem, startedAtMs, nowMs, windowMs, active }: UsageReport): object {
  const items = active.map(({ origin, ipType, count }) => ({
    name: "active_decisions",
    value: count,
    unit: "ip",
    labels: { origin, ip_type: ipType },
  }));
  const meta = { window_size_seconds: Math.round(windowMs / 1000), utc_now_timestamp: seconds(nowMs) };
  const component = {
    type: "wafsync",
    version,
    utc_startup_timestamp: seconds(startedAtMs),
    os: operatingSystem,
    feature_flags: [],
    metrics: [{ meta, items }],
  };
  return { remediation_components: [component] };
}

function seconds(timeMs: number): number {
  return Math.floor(timeMs / 1000);
}
