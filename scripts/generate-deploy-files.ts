// Returns the expected text of all generated files in deploy/, and of the references of metrics and alerts. The callers write or
// compare the files.
import { stringify } from "yaml";
import { alertGroups, alertPage } from "./generate-deploy-alerts.ts";
import { argoFiles } from "./generate-deploy-argocd.ts";
import { type GeneratedDeployFile, chartFiles } from "./generate-deploy-chart.ts";
import { dashboard } from "./generate-deploy-dashboard.ts";
import { metricsPage } from "./generate-deploy-metrics.ts";

const header = "# Written by `npm run generate`. Edit scripts/generate-deploy-alerts.ts instead.\n";

/** @param root the project's folder, which contains the sources */
export async function generatedDeployFiles(root: string): Promise<GeneratedDeployFile[]> {
  const alerts = header + stringify(alertGroups(), { lineWidth: 0 });
  const prometheusRule = {
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PrometheusRule",
    metadata: { name: "wafsync" },
    spec: alertGroups(),
  };
  const dashboardText = `${foldLists(JSON.stringify(dashboard(), undefined, 2))}\n`;
  return [
    { path: "docs/reference/metrics.md", text: await metricsPage() },
    { path: "docs/reference/alerts.md", text: alertPage() },
    { path: "deploy/monitoring/alerts.yaml", text: alerts },
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
