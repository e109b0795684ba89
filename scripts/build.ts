// `npm run build`: bundles the program into the executable file dist/wafsync.mjs and chunks next to it. Each command loads only
// the chunks that it needs. They run without node_modules. A file next to them contains the licences of the bundled packages.
// Optional parameters: the path of the program, and the path of a file for esbuild's description of the bundle.
import { chmod, mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { build } from "esbuild";
import { bundleOptions, licencesOf, requireSelfContained, root } from "./bundle.ts";

const [outfile = join(root, "dist", "wafsync.mjs"), metafileCopy] = process.argv.slice(2).map((path) => resolve(path));
const folder = dirname(outfile);
const chunks = "chunks";
const extension = ".mjs";

/** Some bundled packages are CommonJS and use `require` and `__dirname`, which ES modules do not have. */
const banner = `import { createRequire as createRequireForBundle } from "node:module";
const require = createRequireForBundle(import.meta.url);
const __filename = import.meta.filename;
const __dirname = import.meta.dirname;`;

/** The names of chunks change with their content, so chunks of earlier builds must be removed. */
async function removeChunks(): Promise<void> {
  await mkdir(join(folder, chunks), { recursive: true });
  const names = await readdir(join(folder, chunks));
  const old = names.filter((name) => name.endsWith(extension));
  await Promise.all(old.map((name) => rm(join(folder, chunks, name))));
}

if (!outfile.endsWith(extension)) throw new Error(`the file name of the program must end in ${extension}: ${outfile}`);
await removeChunks();
const { metafile } = await build({
  ...bundleOptions(),
  entryPoints: [{ in: "src/cli/start.ts", out: basename(outfile, extension) }],
  outdir: folder,
  outExtension: { ".js": extension },
  chunkNames: `${chunks}/[name]-[hash]`,
  splitting: true,
  format: "esm",
  banner: { js: banner },
});
requireSelfContained(metafile);
await writeFile(join(folder, "THIRD-PARTY-LICENSES.txt"), await licencesOf(metafile));
if (metafileCopy !== undefined) await writeFile(metafileCopy, JSON.stringify(metafile));
await chmod(outfile, 0o755);
const { size } = await stat(outfile);
const outputs = Object.values(metafile.outputs);
const kibibytes = outputs.reduce((total, { bytes }) => total + bytes, 0) / 1024;
console.log(
  `${relative(process.cwd(), outfile)}: ${size} bytes; ${outputs.length - 1} chunks; ${kibibytes.toFixed(0)} KiB`,
);
