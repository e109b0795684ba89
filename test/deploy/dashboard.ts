// The dashboard as it stands in deploy/, and its queries.
import { readFile } from "node:fs/promises";
import { join } from "node:path";

interface DashboardPanel {
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string }[];
}

const path = join(import.meta.dirname, "../../deploy/monitoring/dashboard.json");

export async function dashboardPanels(): Promise<readonly DashboardPanel[]> {
  return (JSON.parse(await readFile(path, "utf8")) as { readonly panels: readonly DashboardPanel[] }).panels;
}

/** Every query of every panel, in PromQL. */
export async function dashboardQueries(): Promise<string[]> {
  return (await dashboardPanels()).flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
}
