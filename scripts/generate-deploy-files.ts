// Returns the expected text of all generated files in deploy/, and of the reference of metrics. The callers write or
// compare the files.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { argoFiles } from "./generate-deploy-argocd.ts";
import { type GeneratedDeployFile, chartFiles } from "./generate-deploy-chart.ts";
import { metricsPage } from "./generate-deploy-metrics.ts";

const header = "# Written by `npm run generate` from alerts.yaml. Edit that instead.\n";

/** @param root the project's folder, which contains the sources */
export async function generatedDeployFiles(root: string): Promise<GeneratedDeployFile[]> {
  const alerts = await readFile(join(root, "deploy/monitoring/alerts.yaml"), "utf8");
  // Helm reads only files in the folder of the chart.
  const dashboard = await readFile(join(root, "deploy/monitoring/dashboard.json"), "utf8");
  const prometheusRule = {
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PrometheusRule",
    metadata: { name: "wafsync" },
    spec: parse(alerts) as unknown,
  };
  return [
    { path: "docs/reference/metrics.md", text: await metricsPage() },
    { path: "deploy/monitoring/prometheus-rule.yaml", text: header + stringify(prometheusRule, { lineWidth: 0 }) },
    { path: "deploy/helm/wafsync/files/alerts.yaml", text: alerts },
    { path: "deploy/helm/wafsync/files/dashboard.json", text: dashboard },
    ...(await chartFiles(root)),
    ...(await argoFiles(root)),
  ];
}
