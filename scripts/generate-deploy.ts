// Writes the generated files in deploy/, and the reference of metrics. With `--check`, it writes nothing, names
// outdated files, and exits with 1 if it finds any.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { generatedDeployFiles } from "./generate-deploy-files.ts";

const root = join(import.meta.dirname, "..");
const files = await generatedDeployFiles(root);
const stale: string[] = [];
for (const { path, text } of files) {
  const present = await readFile(join(root, path), "utf8").catch(() => undefined);
  if (present !== text) stale.push(path);
}

if (process.argv.includes("--check")) {
  for (const path of stale) console.error(`${path} is out of date: run npm run generate`);
  process.exitCode = stale.length > 0 ? 1 : 0;
} else {
  for (const { path, text } of files) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    if (stale.includes(path)) await writeFile(join(root, path), text);
  }
  console.log(`${files.length} files for deploy: ${stale.length} written`);
}
