// Generates the metrics reference from the registry that the operator serves: names, types, labels and meaning.
import { Registry } from "prom-client";
import { makeRuntimeMetrics } from "../src/telemetry/metrics-runtime.ts";
import { makeAutoBlockMetrics, makeFeedMetrics } from "../src/telemetry/metrics-sources.ts";
import { makeWafMetrics } from "../src/telemetry/metrics-waf.ts";
import { createMetrics } from "../src/telemetry/metrics.ts";

export interface DescribedMetric {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** The metrics of prom-client, which depend on the platform. */
const processPrefixes = ["process_", "nodejs_"];

/** Every metric of the operator, in the order in which it serves them, with the labels that its series have. */
export async function describeMetrics(): Promise<DescribedMetric[]> {
  const text = await exampleText();
  const declared = declaredLabels();
  const metrics = text.split(/^(?=# HELP )/m).filter((part) => part.startsWith("# HELP "));
  return metrics.map((part) => {
    const [, name = "", help = ""] = /^# HELP (\S+) (.*)$/m.exec(part) ?? [];
    const [, type = ""] = /^# TYPE \S+ (\S+)$/m.exec(part) ?? [];
    const names = [...part.matchAll(/[{,](\w+)="/g)].map(([, label = ""]) => label);
    const labels = [...new Set([...(declared.get(name) ?? []), ...names])].filter(
      (label) => label !== "le" && label !== "quantile",
    );
    return { name, type, help, labels };
  });
}

/** The labels in the definition of each metric: some metrics have no series before the first event. */
function declaredLabels(): ReadonlyMap<string, readonly string[]> {
  const registry = new Registry();
  makeWafMetrics(registry);
  makeFeedMetrics(registry);
  makeAutoBlockMetrics(registry);
  makeRuntimeMetrics(registry);
  const metrics = registry.getMetricsAsArray() as unknown as readonly { name: string; labelNames: readonly string[] }[];
  return new Map(metrics.map(({ name, labelNames }) => [name, labelNames]));
}

/** The metrics that an operator with one instance, one feed, one controller and one kind serves. */
export async function exampleText(): Promise<string> {
  const metrics = createMetrics({ version: "0.1.0", withProcess: true });
  metrics.addInstance("edge/shop");
  metrics.feeds.seen({ namespace: "edge", name: "threats" }, { entries: 0, confirmedAtMs: undefined, isStale: false });
  metrics.autoBlocksSeen("edge/shop", new Map([["edge/attackers", { listed: 0, leftOut: 0, rows: 0 }]]));
  metrics.leading("wafsync-operator", true);
  metrics.controller("instances", () => ({ depth: 0, longestRunningMs: 0, unfinishedMs: 0 }));
  metrics.watches(() => [{ plural: "wafiprules", isSynced: true, relists: 0 }]);
  return metrics.text();
}

function table(metrics: readonly DescribedMetric[]): string[] {
  const row = ({ name, type, labels, help }: DescribedMetric): string =>
    `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(", ")} | ${help} |`;
  return ["| Metric | Type | Labels | Meaning |", "| --- | --- | --- | --- |", ...metrics.map(row)];
}

export async function metricsPage(): Promise<string> {
  const all = await describeMetrics();
  const isOfProcess = ({ name }: DescribedMetric): boolean => processPrefixes.some((prefix) => name.startsWith(prefix));
  const own = all.filter(({ name }) => name.startsWith("wafsync_"));
  const shared = all.filter((metric) => !metric.name.startsWith("wafsync_") && !isOfProcess(metric));
  const lines = [
    "<!-- Written by scripts/generate.ts from the metrics in src/telemetry: `npm run generate`. -->",
    "",
    "# Metrics",
    "",
    "`wafsync operator` serves its metrics at `/metrics` on port 8080, in the Prometheus text format. Every series whose labels are known in advance exists from the start, at zero. `waf_instance` is the namespace and name of a WafInstance; its series are removed when it is deleted. `waf_feed` is the same for a WafFeed, and `waf_auto_block` for a WafAutoBlock. No label contains an address, a host or a key. Of each kind, only the first 5,000 objects that wafsync sees have metrics. Each object has a fixed number of series, and at most 600 more that depend on its WAF's responses and logs. Above these limits, wafsync creates no more series.\n\n`wafsync run` has the same metrics with `--metrics-address` and `--metrics-file`. The `name` of `leader_election_master_status` is the Lease, `none` without leader election, and `folder` for `wafsync run`, whose only kind in `wafsync_watch_synced` is `files`: 0 while a file of the folder has an error. In a folder, logs are not forwarded, and the metrics of automatic blocks come from reading the logs.",
    "",
    "The [monitoring guide](../guides/monitoring.md) describes the dashboard and the alerts that use these metrics.",
    "",
    "## Metrics of wafsync",
    "",
    ...table(own),
    "",
    "The label `controller` of the reconcile metrics and the label `name` of the work queues are `instances` or `logs` (log forwarding). The results are:",
    "",
    "| `result` | Meaning |",
    "| --- | --- |",
    "| `success` | The run did everything that was necessary. |",
    "| `error` | The run failed, and is retried with backoff. |",
    "| `requeue` | The run has to be repeated: the WAF or the declared objects changed in the meantime, or the backoff of an earlier run has not ended. |",
    "| `blocked` | Only a change can help, for example a valid API key. The condition `Ready` or `LogsForwarded` names the reason. |",
    "| `interrupted` | The process is stopping. |",
    "",
    "## Metrics of the controller machinery",
    "",
    "These metrics have the same names as in Kubernetes controllers, so dashboards for such controllers also work for wafsync.",
    "",
    ...table(shared),
    "",
    "There are also metrics of the process, whose names start with `process_` and `nodejs_`. A file of `--metrics-file` has none of them, because node_exporter has series with the same names.",
  ];
  return `${lines.join("\n")}\n`;
}
