// `npm run build:executable`: builds a single executable for Linux x64 that does not need Node.js, and the files that are published
// with it. It contains the Node.js version from package.json, with the bundle as its main script. Optional parameter: the path of
// a folder, release/ by default.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { chmod, copyFile, mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, relative, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { type Metafile, build } from "esbuild";
import packageJson from "../package.json" with { type: "json" };
import { bundleOptions, licencesOf, requireSelfContained, root } from "./bundle.ts";
import { fillKrewManifest } from "./krew-manifest.ts";

const execute = promisify(execFile);
const node = join(root, "node_modules", "node", "bin", "node");
const folder = resolve(process.argv[2] ?? join(root, "release"));
const platform = "linux-x64";
const { version } = packageJson;
const name = `wafsync-${version}-${platform}`;

/** Node.js searches its own file for this string to find an injected program. */
const sentinelFuse = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";

/** One CommonJS script, because Node.js 24 supports nothing else. The script still loads commands lazily. */
async function bundle(work: string) {
  const { metafile } = await build({
    ...bundleOptions(),
    entryPoints: ["src/cli/main.ts"],
    outfile: join(work, "main.cjs"),
    format: "cjs",
  });
  requireSelfContained(metafile);
  return metafile;
}

/** Injects the script and its compiled code into a copy of Node.js. */
async function makeExecutable(work: string, target: string): Promise<void> {
  const blob = join(work, "wafsync.blob");
  const config = {
    main: join(work, "main.cjs"),
    output: blob,
    disableExperimentalSEAWarning: true,
    useCodeCache: true,
  };
  await writeFile(join(work, "sea.json"), JSON.stringify(config));
  await execute(node, ["--experimental-sea-config", join(work, "sea.json")]);
  await copyFile(node, target);
  await chmod(target, 0o755);
  // postject warns about section names that Node.js never had, so its output matters only if it fails.
  await execute(join(root, "node_modules/.bin/postject"), [
    target,
    "NODE_SEA_BLOB",
    blob,
    "--sentinel-fuse",
    sentinelFuse,
  ]);
}

/** Writes the SBOM of the bundled packages, and adds the Node.js that the executable contains. */
async function writeBillOfMaterials(work: string, metafile: Metafile, target: string): Promise<void> {
  const bundle = join(work, "bundle.json");
  await writeFile(bundle, JSON.stringify(metafile));
  await execute(join(root, "node_modules/.bin/cyclonedx-esbuild"), ["--output-file", target, bundle], { cwd: root });
  const document = JSON.parse(await readFile(target, "utf8")) as { components: object[] };
  const nodeVersion = packageJson.devDependencies.node;
  document.components.push({
    type: "platform",
    name: "Node.js",
    version: nodeVersion,
    "bom-ref": `nodejs@${nodeVersion}`,
    purl: `pkg:generic/nodejs@${nodeVersion}`,
    cpe: `cpe:2.3:a:nodejs:node.js:${nodeVersion}:*:*:*:*:*:*:*`,
    licenses: [{ license: { id: "MIT" } }],
  });
  await writeFile(target, `${JSON.stringify(document, undefined, 2)}\n`);
}

async function sha256(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}

if (process.platform !== "linux" || process.arch !== "x64") throw new Error("this build requires Linux on x64");
await mkdir(folder, { recursive: true });
const old = (await readdir(folder)).filter((file) => file.startsWith("wafsync") || file === "SHA256SUMS");
await Promise.all(old.map((file) => rm(join(folder, file), { recursive: true })));
const work = await mkdtemp(join(tmpdir(), "wafsync-executable-"));
try {
  const metafile = await bundle(work);
  const executable = join(folder, "wafsync");
  await makeExecutable(work, executable);
  await writeFile(join(work, "THIRD-PARTY-LICENSES.txt"), await licencesOf(metafile));
  await writeBillOfMaterials(work, metafile, join(folder, `${name}.cdx.json`));
  const archive = join(folder, `${name}.tar.gz`);
  const contents = [
    ["-C", folder, "wafsync"],
    ["-C", root, "LICENSE"],
    ["-C", work, "THIRD-PARTY-LICENSES.txt"],
  ];
  await execute("tar", ["--create", "--gzip", "--owner=0", "--group=0", "--file", archive, ...contents.flat()]);
  const template = await readFile(join(root, "deploy/krew/wafsync.yaml"), "utf8");
  await writeFile(
    join(folder, "wafsync.yaml"),
    fillKrewManifest(template, version, { [platform]: await sha256(archive) }),
  );
  const files = (await readdir(folder)).filter((file) => file.startsWith("wafsync")).sort();
  const sums = await Promise.all(files.map(async (file) => `${await sha256(join(folder, file))}  ${file}\n`));
  await writeFile(join(folder, "SHA256SUMS"), sums.join(""));
  for (const file of [...files, "SHA256SUMS"]) {
    const { size } = await stat(join(folder, file));
    console.log(`${relative(process.cwd(), join(folder, basename(file)))}: ${size} bytes`);
  }
} finally {
  await rm(work, { recursive: true, force: true });
}
