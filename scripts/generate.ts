// Generates the CRDs, the schema for editors and the reference docs from the schemas, the generated files in deploy/, the reference of metrics, and the table of
// mutations. With `--check`, it writes nothing, names outdated files, and exits with 1 if it finds any.
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { generatedFiles, generatedFolders, isGenerated } from "../src/kinds/generated-files.ts";
import { generatedDeployFiles } from "./generate-deploy-files.ts";
import { editorSchema } from "./generate-editor-schema.ts";
import { reliabilityPage } from "./generate-reliability.ts";

const root = join(import.meta.dirname, "..");

async function readText(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
}

/** Files of earlier runs that are no longer generated. The folder may also contain other files. */
async function leftovers(folder: string, expected: ReadonlySet<string>): Promise<string[]> {
  const names = await readdir(join(root, folder)).catch(() => []);
  const paths = names.map((name) => `${folder}/${name}`).filter((path) => !expected.has(path));
  const texts = await Promise.all(paths.map((path) => readText(join(root, path))));
  return paths.filter((_, place) => isGenerated(texts[place] ?? ""));
}

const pages = [await reliabilityPage(root)];
const files = [...generatedFiles(), editorSchema(), ...(await generatedDeployFiles(root)), ...pages];
const stale: string[] = [];
for (const { path, text } of files) {
  if ((await readText(join(root, path))) !== text) stale.push(path);
}
const expected = new Set(files.map(({ path }) => path));
const left = (await Promise.all(generatedFolders.map((folder) => leftovers(folder, expected)))).flat();

if (process.argv.includes("--check")) {
  for (const path of stale) console.error(`${path} is out of date: run npm run generate`);
  for (const path of left) console.error(`${path} is no longer generated from the schemas: run npm run generate`);
  process.exitCode = stale.length + left.length > 0 ? 1 : 0;
} else {
  for (const { path, text } of files) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    if (stale.includes(path)) await writeFile(join(root, path), text);
  }
  for (const path of left) await rm(join(root, path));
  console.log(`${files.length} files: ${stale.length} written, ${left.length} removed`);
}
