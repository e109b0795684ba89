// All metrics of one process, in one registry. Every series that can be foreseen exists from the start, at zero; the
// number of series is limited by the number of instances, queues and kinds. Nothing here is global.
import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import { makeRuntimeMetrics } from "./metrics-runtime.ts";
import type { RuntimeMetrics } from "./metrics-runtime.ts";
import { makeWafMetrics } from "./metrics-waf.ts";
import type { WafMetrics } from "./metrics-waf.ts";

export interface Metrics extends WafMetrics, RuntimeMetrics {
  /** The HTTP Content-Type of `text`. */
  readonly contentType: string;
  /** All series in the text format of Prometheus. */
  text(): Promise<string>;
}

export interface MetricsOptions {
  /** Of this program. */
  readonly version: string;
  /** Memory, CPU and the lag of the event loop, under the names that prom-client gives them. */
  readonly withProcess: boolean;
}

export function createMetrics({ version, withProcess }: MetricsOptions): Metrics {
  const registry = new Registry();
  const build = new Gauge({
    name: "wafsync_build_info",
    help: "Always 1: which version runs on which Node.js.",
    labelNames: ["version", "node_version"],
    registers: [registry],
  });
  build.set({ version, node_version: process.version }, 1);
  if (withProcess) collectDefaultMetrics({ register: registry });
  return {
    ...makeWafMetrics(registry),
    ...makeRuntimeMetrics(registry),
    contentType: registry.contentType,
    text: () => registry.metrics(),
  };
}
