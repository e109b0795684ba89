// Files as they stand in deploy/: the dashboard and its queries, the alerts, and the settings of others.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse, parseAllDocuments } from "yaml";

interface DashboardPanel {
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string }[];
}

/** The text of a file below deploy/. */
export async function deployText(file: string): Promise<string> {
  return await readFile(join(import.meta.dirname, "../../deploy", file), "utf8");
}

/** The data of the first ConfigMap in a file. */
export async function settingsIn(file: string): Promise<Readonly<Record<string, string>>> {
  const documents = parseAllDocuments(await deployText(file)).map(
    (document) => document.toJS() as { readonly data: Readonly<Record<string, string>> },
  );
  return documents[0]?.data ?? {};
}

interface Actions {
  readonly "discovery.lua": string;
  readonly definitions: readonly { readonly name: string; readonly "action.lua": string }[];
}

/** The actions that Argo CD offers for objects of this kind. */
export async function actionsOf(kind: string): Promise<Actions> {
  const settings = await settingsIn("argocd/argocd-cm.yaml");
  return parse(settings[`resource.customizations.actions.wafsync.dev_${kind}`] ?? "") as Actions;
}

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly runbook_url: string };
}

export async function alertRules(): Promise<readonly AlertRule[]> {
  const { groups } = parse(await deployText("monitoring/alerts.yaml")) as {
    readonly groups: readonly { readonly rules: readonly AlertRule[] }[];
  };
  return groups.flatMap(({ rules }) => rules);
}

export async function dashboardPanels(): Promise<readonly DashboardPanel[]> {
  return (JSON.parse(await deployText("monitoring/dashboard.json")) as { readonly panels: readonly DashboardPanel[] })
    .panels;
}

/** Every query of every panel, in PromQL. */
export async function dashboardQueries(): Promise<string[]> {
  return (await dashboardPanels()).flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
}
