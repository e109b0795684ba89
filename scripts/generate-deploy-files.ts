// Generates the files in deploy/ that are copies or combinations of others.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import type { GeneratedFile } from "./generate-crds.ts";
import { chartFiles } from "./generate-deploy-chart.ts";

const header = "# Written by `npm run generate` from alerts.yaml. Edit that instead.\n";

/** @param root the project's folder, which contains the sources */
export async function generatedDeployFiles(root: string): Promise<GeneratedFile[]> {
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
    { path: "deploy/monitoring/prometheus-rule.yaml", text: header + stringify(prometheusRule, { lineWidth: 0 }) },
    { path: "deploy/helm/wafsync/files/alerts.yaml", text: alerts },
    { path: "deploy/helm/wafsync/files/dashboard.json", text: dashboard },
    ...(await chartFiles(root)),
    ...(await argoFiles(root)),
  ];
}

const argoFolder = "deploy/argocd";
const argoHeader = "# Written by `npm run generate`. Edit the Lua in deploy/argocd/lua instead.\n";
const everyKind = ["sync-now"];
const pausing = ["suspend", "resume"];

/** All actions of each kind; the discovery script of the kind returns those that currently make sense. */
const argoActions: Readonly<Record<string, readonly string[]>> = {
  WafInstance: [...everyKind, ...pausing, "approve-removals", "clear-cache"],
  WafIpRule: everyKind,
  WafOrigin: everyKind,
  WafCacheClear: [...everyKind, ...pausing],
  WafFeed: [...everyKind, ...pausing],
  WafAutoBlock: [...everyKind, ...pausing],
};

/** Argo CD's settings for wafsync's kinds, from the Lua in deploy/argocd/lua, to merge into its ConfigMap argocd-cm. */
async function argoFiles(root: string): Promise<GeneratedFile[]> {
  const read = async (name: string): Promise<string> => readFile(join(root, argoFolder, "lua", name), "utf8");
  const health = await read("health.lua");
  const discovery = await read("discovery.lua");
  const data: Record<string, string> = {};
  for (const [kind, names] of Object.entries(argoActions)) {
    const definition = async (name: string) => ({ name, "action.lua": await read(`actions/${name}.lua`) });
    const definitions = await Promise.all(names.map(definition));
    const actions = stringify({ "discovery.lua": discovery, definitions }, { lineWidth: 0 });
    data[`resource.customizations.health.wafsync.dev_${kind}`] = health;
    data[`resource.customizations.actions.wafsync.dev_${kind}`] = actions;
  }
  const configMap = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "argocd-cm", namespace: "argocd", labels: { "app.kubernetes.io/part-of": "argocd" } },
    data,
  };
  return [{ path: `${argoFolder}/argocd-cm.yaml`, text: argoHeader + stringify(configMap, { lineWidth: 0 }) }];
}
