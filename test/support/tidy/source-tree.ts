// Reads a tree of TypeScript files for the tidy rules: the imports of each file, and its code without comments.
import { readFile, readdir } from "node:fs/promises";
import { join, posix, relative, sep } from "node:path";
import { transform } from "esbuild";

export interface SourceFile {
  /** From the root, with slashes: `src/decide/plan.ts`. */
  readonly path: string;
  /** As written. */
  readonly text: string;
  /** As it runs: without comments and types. */
  readonly code: string;
  /** Everything it imports, including types: packages by name, project files by path from the root. */
  readonly imports: readonly string[];
}

/** Static imports and exports start a line; no comment line starts with these words. */
const staticImport = /^(?:import|export)\b(?:[^;"'`]*?\bfrom)?\s*["']([^"']+)["']/gm;
/** `import("…")`, of a module or of a type. */
const dynamicImport = /\b(?:import|require)\s*\(\s*["']([^"']+)["']/g;

/** A line that contains only a comment. */
const commentLine = /^\s*(?:\/\/|\/\*|\*).*$/gm;

/** All `.ts` files below `folder`, sorted; none if the folder does not exist. */
export async function readSourceTree(root: string, folder: string): Promise<SourceFile[]> {
  const paths = await listFiles(root, folder);
  const sources = paths.filter((path) => path.endsWith(".ts"));
  return Promise.all(sources.map((path) => readSource(root, path)));
}

/** The paths of all files below `folder`, relative to the root, sorted. */
export async function listFiles(root: string, folder: string): Promise<string[]> {
  const found = await readdir(join(root, folder), { recursive: true, withFileTypes: true }).catch(() => []);
  return found
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .sort();
}

async function readSource(root: string, path: string): Promise<SourceFile> {
  const text = await readFile(join(root, path), "utf8");
  const { code } = await transform(text, { loader: "ts", format: "esm", target: "esnext", legalComments: "none" });
  const statics = [...text.matchAll(staticImport)].map(([, target = ""]) => target);
  const dynamics = [...text.replaceAll(commentLine, "").matchAll(dynamicImport)].map(([, target = ""]) => target);
  const targets = [...statics, ...dynamics];
  return {
    path,
    text,
    code,
    imports: [...new Set(targets.map((target) => resolveImport(path, target)))],
  };
}

function resolveImport(from: string, target: string): string {
  return target.startsWith(".") ? posix.normalize(posix.join(posix.dirname(from), target)) : target;
}
