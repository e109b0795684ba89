// Returns docs/contributing/reliability.md with the current table of mutations.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { mutations } from "../test/support/simulation/mutations.ts";

const path = "docs/contributing/reliability.md";
const table = /(?<=^## Mutations$.*?)^\|.*?(?=\n\n)/ms;

/** @param root the project's folder */
export async function reliabilityPage(root: string): Promise<{ readonly path: string; readonly text: string }> {
  const page = await readFile(join(root, path), "utf8");
  const rows = mutations.map(({ guard, file, foundBy }) => [
    guard,
    `\`${file}\``,
    foundBy === "simulation" ? "the simulation" : `\`${foundBy}\``,
  ]);
  const head = ["Guarantee", "Broken in", "Detected by"];
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const lines = [head, widths.map((width) => "-".repeat(width)), ...rows];
  const text = lines.map((line) => `| ${line.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`);
  return { path, text: page.replace(table, () => text.join("\n")) };
}
