// Shared by the two builds of the program: bundles it with esbuild, and lists the bundled packages.
import { readFile, readdir } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import type { BuildOptions, Metafile } from "esbuild";

export const root = join(import.meta.dirname, "..");

/** Optional packages: other packages also work without them. */
const optionalPackages: ReadonlySet<string> = new Set(["bufferutil", "utf-8-validate", "encoding"]);

/** @throws Error if the bundle would look for something in node_modules */
export function requireSelfContained(metafile: Metafile): void {
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports);
  const missing = imports
    .filter(({ external, path }) => external === true && !isBuiltin(path) && !optionalPackages.has(path))
    .map(({ path }) => path);
  if (missing.length > 0) throw new Error(`the bundle would need these at run time: ${missing.join(", ")}`);
}

/** The folders of the bundled packages, sorted. */
function bundledPackages(metafile: Metafile): string[] {
  const folders = Object.keys(metafile.inputs).flatMap(
    (path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? [],
  );
  return [...new Set(folders)].sort();
}

/** A section for each package, with its name, version and shipped licence. */
async function licenceText(packageFolder: string): Promise<string> {
  const { name, version, license } = JSON.parse(await readFile(join(root, packageFolder, "package.json"), "utf8")) as {
    name: string;
    version: string;
    license?: string;
  };
  const file = (await readdir(join(root, packageFolder))).find((candidate) => /^licen[cs]e/i.test(candidate));
  const text = file === undefined ? "" : `\n${(await readFile(join(root, packageFolder, file), "utf8")).trim()}\n`;
  return `${name} ${version} (${license ?? "see below"})\n${text}`;
}

/** The licences of all bundled packages, as one text. */
export async function licencesOf(metafile: Metafile): Promise<string> {
  const licences = await Promise.all(bundledPackages(metafile).map(licenceText));
  return licences.join(`\n${"-".repeat(80)}\n\n`);
}

/** The caller decides on the output path, the format and the banner. */
export function bundleOptions(): BuildOptions & { readonly metafile: true } {
  return {
    absWorkingDir: root,
    bundle: true,
    platform: "node",
    target: "node22",
    // Names are kept, so that stack traces are readable.
    minifySyntax: true,
    minifyWhitespace: true,
    lineLimit: 200,
    legalComments: "none",
    metafile: true,
    logLevel: "warning",
  };
}
