// `npm run build`: bundles the program into dist/wafsync.mjs, the file that is run, and chunks beside it, of which a command
// loads those that it needs. They run without node_modules. The licences of what is in the bundle go to a file next to them.
// Takes two paths, both optional: of the program, and of a file for esbuild's description of the bundle.
import { chmod, mkdir, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { basename, dirname, join, relative, resolve } from "node:path";
import { type Metafile, type Plugin, build } from "esbuild";

const root = join(import.meta.dirname, "..");
const [outfile = join(root, "dist", "wafsync.mjs"), metafileCopy] = process.argv.slice(2).map((path) => resolve(path));
const folder = dirname(outfile);
const chunks = "chunks";
const extension = ".mjs";

/** Some packages in the bundle are CommonJS: what they ask of `require` and `__dirname` an ES module does not have. */
const banner = `import { createRequire as createRequireForBundle } from "node:module";
const require = createRequireForBundle(import.meta.url);
const __filename = import.meta.filename;
const __dirname = import.meta.dirname;`;

/** Packages that others use if they are there, and do without if not. */
const optionalPackages: ReadonlySet<string> = new Set(["bufferutil", "utf-8-validate", "encoding"]);

const eagerHttp2 = "const connectH2 = require('./client-h2.js')";
const lazyHttp2 = "const connectH2 = (...parameters) => require('./client-h2.js')(...parameters)";

/** undici loads HTTP/2 and TLS with every client. No connection of ours speaks HTTP/2, and loading both takes 30 ms. */
const http2OnDemand: Plugin = {
  name: "http2-on-demand",
  setup(bundler) {
    bundler.onLoad({ filter: /[/\\]undici[/\\]lib[/\\]dispatcher[/\\]client\.js$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      if (!text.includes(eagerHttp2)) throw new Error(`${path} has no line "${eagerHttp2}" any more`);
      return { contents: text.replace(eagerHttp2, lazyHttp2) };
    });
  },
};

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

/** The names of chunks change with what is in them, so an earlier build would leave some behind. */
async function removeChunks(): Promise<void> {
  await mkdir(join(folder, chunks), { recursive: true });
  const names = await readdir(join(folder, chunks));
  const old = names.filter((name) => name.endsWith(extension));
  await Promise.all(old.map((name) => rm(join(folder, chunks, name))));
}

if (!outfile.endsWith(extension)) throw new Error(`the program must be called something${extension}: ${outfile}`);
await removeChunks();
const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: [{ in: "src/cli/start.ts", out: basename(outfile, extension) }],
  outdir: folder,
  outExtension: { ".js": extension },
  chunkNames: `${chunks}/[name]-[hash]`,
  bundle: true,
  splitting: true,
  platform: "node",
  format: "esm",
  target: "node22",
  banner: { js: banner },
  plugins: [http2OnDemand],
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
await writeFile(join(folder, "THIRD-PARTY-LICENSES.txt"), licences.join(`\n${"-".repeat(80)}\n\n`));
if (metafileCopy !== undefined) await writeFile(metafileCopy, JSON.stringify(metafile));
await chmod(outfile, 0o755);
const { size } = await stat(outfile);
const outputs = Object.values(metafile.outputs);
const kibibytes = outputs.reduce((total, { bytes }) => total + bytes, 0) / 1024;
console.log(
  `${relative(process.cwd(), outfile)}: ${size} bytes; ${outputs.length - 1} chunks; ${kibibytes.toFixed(0)} KiB`,
);
