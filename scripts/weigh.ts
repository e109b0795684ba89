// Weighs the project: the lines of code of each folder, without comments and blank lines, against the limits in scripts/weights.json, which only go
// down. With `--write`, it lowers the limits to what the folders weigh now. Raising one by hand is a line in the diff that a reviewer sees.
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join, sep } from "node:path";

const root = join(import.meta.dirname, "..");
const limitsFile = join(import.meta.dirname, "weights.json");

const limits = JSON.parse(readFileSync(limitsFile, "utf8")) as Record<string, number>;
const weights = new Map<string, number>();
for (const path of globSync("{src,scripts,test}/**/*.{ts,mjs,js}", { cwd: root })) {
  const [top = "", folder = ""] = path.split(sep);
  const isApart = top === "src" || path.startsWith(join("test", "support", sep));
  const name = isApart ? `${top}/${folder}` : top;
  if (!path.includes(`${sep}fixtures${sep}`)) weights.set(name, (weights.get(name) ?? 0) + linesOf(path));
}

if (process.argv.includes("--write")) {
  const lowered = [...weights]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, weight]) => [name, Math.min(weight, limits[name] ?? weight)]);
  writeFileSync(limitsFile, `${JSON.stringify(Object.fromEntries(lowered), undefined, 2)}\n`);
} else {
  for (const [name, weight] of weights) {
    const limit = limits[name] ?? 0;
    if (weight <= limit) continue;
    console.error(
      `${name} has ${weight} lines of code, and its limit is ${limit}: take something away, or raise the limit in scripts/weights.json, and say why.`,
    );
    process.exitCode = 1;
  }
}

function linesOf(path: string): number {
  let [lines, isInComment] = [0, false];
  for (const text of readFileSync(join(root, path), "utf8").split("\n")) {
    const line = text.trim();
    const isComment = isInComment || line.startsWith("/*");
    if (isComment) isInComment = !line.includes("*/");
    else if (line !== "" && !line.startsWith("//")) lines += 1;
  }
  return lines;
}
