// The single executable, built and run with no Node.js on the PATH, and what is published next to it.
// Long: `npm run test:deploy` runs it.
import { execFile } from "node:child_process";
import { readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { parse } from "yaml";
import { fillKrewManifest } from "../../scripts/krew-manifest.ts";
import { tryFolder } from "../support/processes/shipped-program.ts";
import { runWafsync } from "../support/processes/wafsync-process.ts";
import { scratchDirectory, type ScratchDirectory } from "../support/worlds/scratch-directory.ts";

const root = join(import.meta.dirname, "../..");
const execute = promisify(execFile);
const { version, devDependencies } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
  version: string;
  devDependencies: Readonly<Record<string, string>>;
};
const name = `wafsync-${version}-linux-x64`;
const [major = 0] = process.versions.node.split(".").map(Number);

interface KrewManifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly version: string;
    readonly shortDescription: string;
    readonly description: string;
    readonly platforms: readonly {
      readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
      readonly uri: string;
      readonly sha256: string;
      readonly bin: string;
      readonly files: readonly { readonly from: string; readonly to: string }[];
    }[];
  };
}

let scratch: ScratchDirectory;
const inScratch = (file: string): string => join(scratch.path, file);
/** No variable of the tests, and no folder with programs. */
const alone = (executable = "wafsync") => ({
  executable: inScratch(`release/${executable}`),
  workingDirectory: scratch.path,
  environment: { PATH: "/nowhere", HOME: scratch.path },
  isIsolated: true,
});
const run = async (...parameters: string[]) => await runWafsync(parameters, alone());
const json = async (file: string) => JSON.parse(await readFile(inScratch(file), "utf8")) as unknown;

beforeAll(async () => {
  scratch = await scratchDirectory();
  await execute(process.execPath, ["scripts/build-executable.ts", inScratch("release")], { cwd: root });
});

afterAll(async () => {
  await scratch[Symbol.asyncDispose]();
});

describe("the single executable", () => {
  test("has its version, and the version of Node.js that is tested", async () => {
    expect(await run("--version")).toMatchObject({ code: 0, stdout: `${version}\n` });
    const bytes = await readFile(inScratch("release/wafsync"));
    expect(bytes.includes(`v${devDependencies["node"]}`)).toBe(true);
    expect(major).toBe(24);
  });

  test("simulates, plans, applies, reports and follows a folder", async () => await tryFolder(scratch, alone()));

  test("is a plugin of kubectl, and its completion, by the name that it is called by", async () => {
    await symlink("wafsync", inScratch("release/kubectl-wafsync"));
    await symlink("wafsync", inScratch("release/kubectl_complete-wafsync"));
    const help = await runWafsync(["--help"], alone("kubectl-wafsync"));
    expect(help.stdout).toMatch(/^Usage: kubectl wafsync /u);
    const completed = await runWafsync(["pl"], alone("kubectl_complete-wafsync"));
    expect(completed.stdout).toMatch(/^plan\t.*\n:4\n$/u);
  });

  test("has an SBOM of exactly the packages that are in it", async () => {
    const cyclonedx = (await json(`release/${name}.cdx.json`)) as {
      bomFormat: string;
      metadata: { component: { name: string; version: string } };
      components: readonly { group?: string; name: string }[];
      dependencies: readonly { ref: string; dependsOn?: readonly string[] }[];
    };
    expect(cyclonedx).toMatchObject({ bomFormat: "CycloneDX", metadata: { component: { name: "wafsync", version } } });
    const names = cyclonedx.components.map(({ group, name: one }) => (group === undefined ? one : `${group}/${one}`));
    expect(names).toStrictEqual(expect.arrayContaining(["zod", "yaml", "Node.js"]));
    for (const tool of ["jest", "typescript", "esbuild", "postject"]) expect(names).not.toContain(tool);
    const refs = new Set(cyclonedx.dependencies.map(({ ref }) => ref));
    for (const { dependsOn = [] } of cyclonedx.dependencies) for (const ref of dependsOn) expect(refs).toContain(ref);
    const licenses = await execute("tar", ["-xzOf", inScratch(`release/${name}.tar.gz`), "THIRD-PARTY-LICENSES.txt"]);
    const licensed = licenses.stdout.split(`\n${"-".repeat(80)}\n\n`).map((section) => section.split(" ")[0]);
    expect([...licensed, "Node.js"]).toStrictEqual(expect.arrayContaining(names));
  });

  test("has checksums that are right, and a manifest for krew with that of the archive", async () => {
    await execute("sha256sum", ["--check", "--strict", "SHA256SUMS"], { cwd: inScratch("release") });
    const sums = await readFile(inScratch("release/SHA256SUMS"), "utf8");
    const manifest = parse(await readFile(inScratch("release/wafsync.yaml"), "utf8")) as KrewManifest;
    const [platform] = manifest.spec.platforms;
    expect(sums).toContain(`${platform?.sha256 ?? ""}  ${name}.tar.gz\n`);
    const { stdout } = await execute("tar", ["-tzf", inScratch(`release/${name}.tar.gz`)]);
    const archived = stdout.trim().split("\n");
    for (const { from } of platform?.files ?? []) expect(archived).toContain(from);
    expect(platform?.files.map(({ from }) => from)).toContain(platform?.bin);
    expect(manifest).toMatchObject({
      apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
      kind: "Plugin",
      metadata: { name: "wafsync" },
      spec: { version: `v${version}` },
    });
    // What `validate-krew-manifest` asks, which the index of krew runs.
    const { shortDescription, description, platforms } = manifest.spec;
    expect(shortDescription.length).toBeLessThanOrEqual(50);
    expect(shortDescription).not.toMatch(/\.$/u);
    expect(description.trim()).not.toBe("");
    for (const { selector, uri, sha256, bin, files } of platforms) {
      expect(Object.keys(selector.matchLabels).sort()).toStrictEqual(["arch", "os"]);
      expect(uri).toMatch(/^https:\/\/\S+\/v[\d.]+\/wafsync-[\d.]+-\S+\.tar\.gz$/u);
      expect(sha256).toMatch(/^[0-9a-f]{64}$/u);
      expect(bin).not.toMatch(/^\/|\.\./u);
      for (const { from, to } of files) expect([from, to].join(" ")).not.toMatch(/(?:^| )\/|\.\./u);
    }
    const template = await readFile(join(root, "deploy/krew/wafsync.yaml"), "utf8");
    expect(() => fillKrewManifest(template, "1.2.3", {})).toThrow("{{ sha256 linux-x64 }}");
  });
});
