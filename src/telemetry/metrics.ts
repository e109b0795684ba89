// All metrics of one process, in one registry that is not global. Every series whose labels are known in advance exists from
// the start, at zero. The number of series is limited by the number of instances, feeds, controllers and kinds.
import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import { makeRuntimeMetrics } from "./metrics-runtime.ts";
import { makeAutoBlockMetrics, makeFeedMetrics } from "./metrics-sources.ts";
import { makeWafMetrics } from "./metrics-waf.ts";

export type Metrics = ReturnType<typeof createMetrics>;

/**
 * @param version that of wafsync
 * @param withProcess adds memory, CPU and event loop lag under the names that prom-client uses
 */
export function createMetrics({ version, withProcess }: { readonly version: string; readonly withProcess: boolean }) {
  const registry = new Registry();
  const ofProcess = new Registry();
  const build = new Gauge({
    name: "wafsync_build_info",
    help: "Always 1; the labels name the version of wafsync and of Node.js.",
    labelNames: ["version", "node_version"],
    registers: [registry],
  });
  build.set({ version, node_version: process.version }, 1);
  if (withProcess) collectDefaultMetrics({ register: ofProcess });
  return {
    ...makeWafMetrics(registry),
    feeds: makeFeedMetrics(registry),
    ...makeAutoBlockMetrics(registry),
    ...makeRuntimeMetrics(registry),
    /** All metrics but those of the process. */
    registry,
    /** The HTTP Content-Type of `text`. */
    contentType: registry.contentType,
    /** All series in the text format of Prometheus. */
    text: async (): Promise<string> => (await registry.metrics()) + (await ofProcess.metrics()),
    /** The same without the series of the process, whose names other exporters have as well. */
    ownText: async (): Promise<string> => await registry.metrics(),
  };
}
