// Generates the tables of pages that people write: the metrics, from the registry that the operator serves, and the mutations.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createMetrics } from "../src/telemetry/metrics.ts";
import { mutations } from "../test/support/simulation/mutations.ts";
import type { GeneratedFile } from "./generate-crds.ts";

export interface DescribedMetric {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** Every metric of a registry, by default all of the operator except those of the process, in the order in which it serves them. */
export function describeMetrics(
  registry = createMetrics({ version: "", withProcess: false }).registry,
): DescribedMetric[] {
  return registry.getMetricsAsArray().map((metric) => {
    const { name, help, labelNames } = metric as unknown as { name: string; help: string; labelNames: string[] };
    return { name, type: metric.constructor.name.toLowerCase(), help, labels: labelNames };
  });
}

/** The page with this table, as the formatter writes it, instead of the first one below a heading. */
function withTable(page: string, heading: string, rows: readonly (readonly string[])[]): string {
  const [head = [], ...others] = rows;
  const widths = head.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = [head, widths.map((width) => "-".repeat(width)), ...others];
  const text = lines.map((line) => `| ${line.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`);
  const found = new RegExp(`(?<=^## ${heading}$.*?)^\\|.*?(?=\\n\\n)`, "ms");
  return page.replace(found, () => text.join("\n"));
}

function metricRows(metrics: readonly DescribedMetric[]): string[][] {
  const rows = metrics.map(({ name, type, labels, help }) => [
    `\`${name}\``,
    type,
    labels.map((label) => `\`${label}\``).join(", "),
    help,
  ]);
  return [["Metric", "Type", "Labels", "Meaning"], ...rows];
}

/** @param root the project's folder */
export async function pagesWithTables(root: string): Promise<GeneratedFile[]> {
  const read = async (path: string): Promise<GeneratedFile> => ({
    path,
    text: await readFile(join(root, path), "utf8"),
  });
  const metrics = await read("docs/reference/metrics.md");
  const { own = [], shared = [] } = Object.groupBy(describeMetrics(), ({ name }) =>
    name.startsWith("wafsync_") ? "own" : "shared",
  );
  const withOwn = withTable(metrics.text, "Metrics of wafsync", metricRows(own));
  const reliability = await read("docs/contributing/reliability.md");
  const mutationRows = mutations.map(({ guard, file, foundBy }) => [
    guard,
    `\`${file}\``,
    foundBy === "simulation" ? "the simulation" : `\`${foundBy}\``,
  ]);
  const head = ["Guarantee", "Broken in", "Detected by"];
  return [
    { ...metrics, text: withTable(withOwn, "Metrics of the controller machinery", metricRows(shared)) },
    { ...reliability, text: withTable(reliability.text, "Mutations", [head, ...mutationRows]) },
  ];
}
