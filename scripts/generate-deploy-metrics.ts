// The reference of the metrics, made from the registry that the operator serves: names, types, labels and meaning.
import { Registry } from "prom-client";
import { makeRuntimeMetrics } from "../src/telemetry/metrics-runtime.ts";
import { makeWafMetrics } from "../src/telemetry/metrics-waf.ts";
import { createMetrics } from "../src/telemetry/metrics.ts";

export interface DescribedMetric {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** Written by prom-client, whatever the version: which of them are there depends on the platform. */
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

/** The labels of each metric by its definition: some have no series before there is something to count. */
function declaredLabels(): ReadonlyMap<string, readonly string[]> {
  const registry = new Registry();
  makeWafMetrics(registry);
  makeRuntimeMetrics(registry);
  const metrics = registry.getMetricsAsArray() as unknown as readonly { name: string; labelNames: readonly string[] }[];
  return new Map(metrics.map(({ name, labelNames }) => [name, labelNames]));
}

/** What an operator with one instance, one queue and one kind serves. */
export async function exampleText(): Promise<string> {
  const metrics = createMetrics({ version: "0.1.0", withProcess: true });
  metrics.addInstance("edge/shop");
  metrics.leading("wafsync-operator", true);
  metrics.queue("instances").follow(() => ({ depth: 0, longestRunningMs: 0, unfinishedMs: 0 }));
  metrics.watch("WafIpRule", () => ({ isSynced: true, relists: 0 }));
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
    "<!-- Written by scripts/generate-deploy.ts from the metrics in src/telemetry: `npm run generate`. -->",
    "",
    "# Metrics",
    "",
    "`wafsync operator` serves them at `/metrics` on port 8080, in the text format of Prometheus. Every series that can be foreseen is there from the start, at zero. `waf_instance` is the namespace and the name of a WafInstance; when that is deleted, its series go with it. No label holds an address, a host or a key.",
    "",
    "The [monitoring guide](../guides/monitoring.md) has a dashboard and alerts that are made of these.",
    "",
    "## Of wafsync",
    "",
    ...table(own),
    "",
    "## Of the machinery",
    "",
    "These have the names that Kubernetes' own controllers use, so dashboards for those work here too.",
    "",
    ...table(shared),
    "",
    "Beside them are the metrics of the process, which begin with `process_` and `nodejs_`.",
  ];
  return `${lines.join("\n")}\n`;
}
