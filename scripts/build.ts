// `npm run build`: bundles the program into one file that runs without node_modules beside it. The licences of what is in
// the bundle go to a file next to it. Takes the path of the file as its one argument, by default dist/wafsync.mjs.
import { chmod, readFile, readdir, stat, writeFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { type Metafile, build } from "esbuild";

const root = join(import.meta.dirname, "..");
const outfile = resolve(process.argv[2] ?? join(root, "dist", "wafsync.mjs"));

/** Some packages in the bundle are CommonJS: what they ask of `require` and `__dirname` an ES module does not have. */
const banner = `#!/usr/bin/env node
import { createRequire as createRequireForBundle } from "node:module";
const require = createRequireForBundle(import.meta.url);
const __filename = import.meta.filename;
const __dirname = import.meta.dirname;`;

/** Packages that others use if they are there, and do without if not. */
const optionalPackages: ReadonlySet<string> = new Set(["bufferutil", "utf-8-validate", "encoding"]);

/** What the bundle would look for in node_modules: must be nothing. */
function missingPackages(metafile: Metafile): string[] {
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports);
  return imports
    .filter(({ external, path }) => external === true && !isBuiltin(path) && !optionalPackages.has(path))
    .map(({ path }) => path);
}

/** The folders of the packages that code in the bundle comes from, in order. */
function bundledPackages(metafile: Metafile): string[] {
  const folders = Object.keys(metafile.inputs).flatMap(
    (path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? [],
  );
  return [...new Set(folders)].sort();
}

/** One section a package: its name and version, and its licence as it ships it. */
async function licenceText(folder: string): Promise<string> {
  const { name, version, license } = JSON.parse(await readFile(join(root, folder, "package.json"), "utf8")) as {
    name: string;
    version: string;
    license?: string;
  };
  const file = (await readdir(join(root, folder))).find((candidate) => /^licen[cs]e/i.test(candidate));
  const text = file === undefined ? "" : `\n${(await readFile(join(root, folder, file), "utf8")).trim()}\n`;
  return `${name} ${version} (${license ?? "see below"})\n${text}`;
}

const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: ["src/cli/main.ts"],
  outfile,
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node22",
  banner: { js: banner },
  // Names stay as they are, so that a stack trace can be read.
  minifySyntax: true,
  minifyWhitespace: true,
  lineLimit: 200,
  legalComments: "none",
  metafile: true,
  logLevel: "warning",
});

const missing = missingPackages(metafile);
if (missing.length > 0) throw new Error(`the bundle would need these at run time: ${missing.join(", ")}`);
const licences = await Promise.all(bundledPackages(metafile).map(licenceText));
await writeFile(join(dirname(outfile), "THIRD-PARTY-LICENSES.txt"), licences.join(`\n${"-".repeat(80)}\n\n`));
await chmod(outfile, 0o755);
const { size } = await stat(outfile);
console.log(`${relative(process.cwd(), outfile)}: ${(size / 1024).toFixed(0)} KiB`);
