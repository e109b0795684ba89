// All metrics of one process, in one registry that is not global. Every series whose labels are known in advance exists from
// the start, at zero. The number of series is limited by the number of instances, feeds, controllers and kinds.
import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import { makeRuntimeMetrics, type RuntimeMetrics } from "./metrics-runtime.ts";
import { type AutoBlockMetrics, type FeedMetrics, makeAutoBlockMetrics, makeFeedMetrics } from "./metrics-sources.ts";
import { makeWafMetrics, type WafMetrics } from "./metrics-waf.ts";

export interface Metrics extends WafMetrics, AutoBlockMetrics, RuntimeMetrics {
  readonly feeds: FeedMetrics;
  /** The HTTP Content-Type of `text`. */
  readonly contentType: string;
  /** All series in the text format of Prometheus. */
  text(): Promise<string>;
}

export interface MetricsOptions {
  /** The version of wafsync. */
  readonly version: string;
  /** Adds memory, CPU and event loop lag under the names that prom-client uses. */
  readonly withProcess: boolean;
}

export function createMetrics({ version, withProcess }: MetricsOptions): Metrics {
  const registry = new Registry();
  const build = new Gauge({
    name: "wafsync_build_info",
    help: "Always 1; the labels name the version of wafsync and of Node.js.",
    labelNames: ["version", "node_version"],
    registers: [registry],
  });
  build.set({ version, node_version: process.version }, 1);
  if (withProcess) collectDefaultMetrics({ register: registry });
  return {
    ...makeWafMetrics(registry),
    feeds: makeFeedMetrics(registry),
    ...makeAutoBlockMetrics(registry),
    ...makeRuntimeMetrics(registry),
    contentType: registry.contentType,
    text: () => registry.metrics(),
  };
}
