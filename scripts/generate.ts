// Generates the CRDs, the schema for editors and the reference pages from the schemas, the generated files in deploy/, and the tables of
// metrics and mutations. With `--check`, it writes nothing, names outdated files, and exits with 1 if it finds any.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { crdFiles } from "./generate-crds.ts";
import { generatedDeployFiles } from "./generate-deploy-files.ts";
import { editorSchema } from "./generate-editor-schema.ts";
import { referencePages } from "./generate-reference.ts";
import { pagesWithTables } from "./generate-tables.ts";

const root = join(import.meta.dirname, "..");

async function readText(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
}

const files = [
  ...crdFiles(),
  ...referencePages(),
  editorSchema(),
  ...(await generatedDeployFiles(root)),
  ...(await pagesWithTables(root)),
];
const stale: typeof files = [];
for (const file of files) {
  if ((await readText(join(root, file.path))) !== file.text) stale.push(file);
}

if (process.argv.includes("--check")) {
  for (const { path } of stale) console.error(`${path} is out of date: run npm run generate`);
  process.exitCode = stale.length > 0 ? 1 : 0;
} else {
  for (const { path, text } of stale) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  console.log(`${files.length} files: ${stale.length} written`);
}
