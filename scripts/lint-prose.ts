// `node scripts/lint-prose.ts [FILE …]`: finds terms that no text of wafsync uses, in pages, comments, messages and descriptions.
import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { findTerms, proseExtensions } from "./prose/lint.ts";

const root = join(import.meta.dirname, "..");
const folders = [".github", "bench", "deploy", "docs", "examples", "scripts", "src", "test"];

/**
 * Inputs of tests, copies that are made from the source, recorded data, the list of terms itself with its test, and a file whose
 * change would build the tools of the tests again.
 */
const notChecked =
  /^test\/fixtures\/|^deploy\/helm\/wafsync\/(?:templates\/definition-|files\/)|\.d\.ts$|results\.json$|dashboard\.json$|^scripts\/prose\/terms\.ts$|^test\/scripts\/lint-prose\.test\.ts$|^test\/tools\/definitions\.ts$/;

async function filesOf(folder: string): Promise<string[]> {
  const names = await readdir(join(root, folder), { recursive: true });
  return names.map((name) => join(folder, name));
}

async function allFiles(): Promise<string[]> {
  const atRoot = (await readdir(root)).filter((name) => name.endsWith(".md"));
  const below = await Promise.all(folders.map(filesOf));
  return [...atRoot, ...below.flat()]
    .filter((path) => proseExtensions.includes(extname(path)) && !notChecked.test(path))
    .sort();
}

const given = process.argv.slice(2);
const files = given.length > 0 ? given : await allFiles();
let count = 0;
for (const file of files) {
  for (const { line, column, message } of await findTerms(extname(file), await readFile(join(root, file), "utf8"))) {
    count += 1;
    console.log(`${file}:${line}:${column}: ${message}`);
  }
}
console.log(`${count} terms to replace in ${files.length} files`);
process.exitCode = count === 0 ? 0 : 1;
