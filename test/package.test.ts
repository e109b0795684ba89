// The npm package as its users get it: packed from a copy of the sources, and installed where there is nothing else.
// Long: `npm run test:deploy` runs it.
import { execFile } from "node:child_process";
import { cp, lstat, mkdir, readFile, readdir, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { tryFolder } from "./support/processes/shipped-program.ts";
import { scratchDirectory } from "./support/worlds/scratch-directory.ts";
import type { ScratchDirectory } from "./support/worlds/scratch-directory.ts";

const root = join(import.meta.dirname, "..");
const execute = promisify(execFile);
const bytesMax = 8 * 1024 * 1024;

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
}

let scratch: ScratchDirectory;
let packed: Packed;
let tarball = "";
let environment: Record<string, string>;
const inScratch = (name: string): string => join(scratch.path, name);
const npm = async (...parameters: string[]) =>
  await execute("npm", parameters, { cwd: inScratch("clone"), env: environment, maxBuffer: bytesMax });
const run = async (program: string, ...parameters: string[]) =>
  await execute(inScratch(`prefix/bin/${program}`), parameters, { cwd: scratch.path, env: environment });
/** The launcher that npm made. */
const installed = () => ({ executable: inScratch("prefix/bin/wafsync"), environment, isIsolated: true });

beforeAll(async () => {
  scratch = await scratchDirectory({ "home/empty": "" });
  // Offline and with an empty cache, so that nothing can be downloaded.
  environment = {
    PATH: [join(root, "node_modules/.bin"), dirname(process.execPath), process.env["PATH"]].join(":"),
    HOME: inScratch("home"),
    npm_config_cache: inScratch("cache"),
    npm_config_offline: "true",
    npm_config_update_notifier: "false",
  };
  const { stdout } = await execute("git", ["ls-files", "--cached", "--others", "--exclude-standard"], { cwd: root });
  for (const file of stdout.trim().split("\n")) {
    const isThere = await lstat(join(root, file)).catch(() => undefined);
    if (isThere === undefined || file.startsWith("test/")) continue;
    await mkdir(dirname(inScratch(`clone/${file}`)), { recursive: true });
    await cp(join(root, file), inScratch(`clone/${file}`));
  }
  await symlink(join(root, "node_modules"), inScratch("clone/node_modules"));
  const { stdout: report } = await npm("pack", "--json", "--pack-destination", scratch.path);
  packed = packedOf(report);
  tarball = inScratch(packed.filename);
  await npm("install", "--global", "--prefix", inScratch("prefix"), tarball);
});

afterAll(async () => {
  await scratch[Symbol.asyncDispose]();
});

describe("the npm package", () => {
  test("is small, and unpacks to little", () => {
    expect(packed.size).toBeLessThan(bytesMax);
    expect(packed.unpackedSize).toBeLessThan(bytesMax);
  });

  test("has the program, the CRDs, the manifests, the examples and the pages, and no source", async () => {
    const paths = packed.files.map(({ path }) => path);
    expect(paths).toStrictEqual(
      expect.arrayContaining([
        "LICENSE",
        "README.md",
        "dist/wafsync.mjs",
        "dist/THIRD-PARTY-LICENSES.txt",
        "crds/wafinstances.yaml",
        "deploy/helm/wafsync/Chart.yaml",
        "docs/tutorial.md",
        "examples/directory/waf.yaml",
      ]),
    );
    const folders = new Set(paths.map((path) => path.split("/")[0]));
    for (const folder of ["src", "test", "scripts", "bench", "release"]) expect(folders).not.toContain(folder);
  });

  test("brings no other package with it", async () => {
    expect(await readdir(inScratch("prefix/lib/node_modules"))).toStrictEqual(["wafsync"]);
    expect(await readdir(inScratch("prefix/lib/node_modules/wafsync"))).not.toContain("node_modules");
    const manifest = await readFile(inScratch("prefix/lib/node_modules/wafsync/package.json"), "utf8");
    expect(JSON.parse(manifest)).not.toHaveProperty("dependencies");
  });

  test("installs the kubectl plugin, with its own help and completion", async () => {
    const { stdout } = await run("kubectl-wafsync", "plan", "--help");
    expect(stdout).toMatch(/^Usage: kubectl wafsync plan /u);
    expect(stdout).toContain("  $ kubectl wafsync plan -f waf/");
    expect((await run("kubectl_complete-wafsync", "plan", "--st")).stdout).toMatch(/^--state\t.*\n:4\n$/u);
  });

  test("simulates, plans, applies, reports and follows a folder", async () => await tryFolder(scratch, installed()));

  test("runs by npx without being installed", async () => {
    const { stdout } = await npm("exec", "--yes", `--package=${tarball}`, "--", "wafsync", "--version");
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/u);
  });
});

/** npm prints what the scripts of the package print in front of its report. */
function packedOf(report: string): Packed {
  const [packed] = JSON.parse(report.slice(report.indexOf("[\n"))) as [Packed];
  return packed;
}
