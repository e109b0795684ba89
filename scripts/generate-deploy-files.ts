// Returns the expected text of all generated files in deploy/, and of the reference of metrics. The callers write or
// compare the files.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { argoFiles } from "./generate-deploy-argocd.ts";
import { type GeneratedDeployFile, chartFiles } from "./generate-deploy-chart.ts";
import { dashboard } from "./generate-deploy-dashboard.ts";
import { metricsPage } from "./generate-deploy-metrics.ts";

const header = "# Written by `npm run generate` from alerts.yaml. Edit that instead.\n";

/** @param root the project's folder, which contains the sources */
export async function generatedDeployFiles(root: string): Promise<GeneratedDeployFile[]> {
  const alerts = await readFile(join(root, "deploy/monitoring/alerts.yaml"), "utf8");
  const prometheusRule = {
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PrometheusRule",
    metadata: { name: "wafsync" },
    spec: parse(alerts) as unknown,
  };
  const dashboardText = `${foldLists(JSON.stringify(dashboard(), undefined, 2))}\n`;
  return [
    { path: "docs/reference/metrics.md", text: await metricsPage() },
    { path: "deploy/monitoring/prometheus-rule.yaml", text: header + stringify(prometheusRule, { lineWidth: 0 }) },
    { path: "deploy/monitoring/dashboard.json", text: dashboardText },
    { path: "deploy/helm/wafsync/files/alerts.yaml", text: alerts },
    { path: "deploy/helm/wafsync/files/dashboard.json", text: dashboardText },
    ...(await chartFiles(root)),
    ...(await argoFiles(root)),
  ];
}

/** Puts lists of strings on one line, as the formatter does. */
function foldLists(json: string): string {
  return json.replaceAll(
    /\[\s+("[^"]*"(?:,\s+"[^"]*")*)\s+\]/g,
    (_, items: string) => `[${items.replaceAll(/,\s+/g, ", ")}]`,
  );
}
