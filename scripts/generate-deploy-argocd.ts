// Generates the ConfigMap with Argo CD's settings for wafsync's kinds from the Lua in deploy/argocd/lua.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import type { GeneratedDeployFile } from "./generate-deploy-chart.ts";

const folder = "deploy/argocd";
const header = "# Written by `npm run generate`. Edit the Lua in deploy/argocd/lua instead.\n";
const everyKind = ["sync-now"];
const pausing = ["suspend", "resume"];

/** All actions of each kind; the discovery script of the kind returns those that currently make sense. */
export const argoActions: Readonly<Record<string, readonly string[]>> = {
  WafInstance: [...everyKind, ...pausing, "approve-removals", "clear-cache"],
  WafIpRule: everyKind,
  WafOrigin: everyKind,
  WafCacheClear: [...everyKind, ...pausing],
  WafFeed: [...everyKind, ...pausing],
  WafAutoBlock: [...everyKind, ...pausing],
};

/** Settings to merge into Argo CD's ConfigMap argocd-cm. */
export async function argoFiles(root: string): Promise<GeneratedDeployFile[]> {
  const read = async (name: string): Promise<string> => readFile(join(root, folder, "lua", name), "utf8");
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
  return [{ path: `${folder}/argocd-cm.yaml`, text: header + stringify(configMap, { lineWidth: 0 }) }];
}
