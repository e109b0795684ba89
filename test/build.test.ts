// What ships, and nothing else: a copy of the built folder in an empty directory, run with an empty environment.
// Long: `npm run test:deploy` runs it.
import { execFile } from "node:child_process";
import { cp, mkdir, readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { builtBundle } from "./support/processes/built-program.ts";
import { buildCommand } from "./support/processes/bundle.ts";
import { tryFolder } from "./support/processes/shipped-program.ts";
import { startWafsync } from "./support/processes/wafsync-process.ts";
import { scratchDirectory } from "./support/worlds/scratch-directory.ts";
import type { ScratchDirectory } from "./support/worlds/scratch-directory.ts";

const root = join(import.meta.dirname, "..");
const execute = promisify(execFile);

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: nowhere, cluster: {server: "https://127.0.0.1:9"}}]
users: [{name: nobody, user: {token: none}}]
contexts: [{name: here, context: {cluster: nowhere, user: nobody}}]
current-context: here
`;

describe("the bundle, alone in a folder without node_modules", () => {
  const bundle = builtBundle();
  let scratch: ScratchDirectory;
  const inFolder = (name: string): string => join(scratch.path, name);

  /** The home folder takes the compiled code, which would go to that of the user who runs the tests. */
  const isolated = () => ({
    program: inFolder("program/wafsync.mjs"),
    workingDirectory: scratch.path,
    environment: { HOME: inFolder("home") },
    isIsolated: true,
  });

  beforeAll(async () => {
    scratch = await scratchDirectory({ "kubeconfig.yaml": kubeconfig });
    await mkdir(inFolder("home"));
    await cp(bundle().folder, inFolder("program"), { recursive: true });
  });

  afterAll(async () => {
    await scratch[Symbol.asyncDispose]();
  });

  // The suites in test/e2e/ run every command of the bundle; the chunks that only some commands need are loaded below.
  test("simulates, plans, applies, reports and follows a folder", async () => await tryFolder(scratch, isolated()));

  test("runs the operator, which ends by a signal while it has no cluster", async () => {
    const ports = ["--host", "127.0.0.1", "--health-port", "0", "--metrics-port", "0"];
    const operator = startWafsync(["operator", "--kubeconfig", inFolder("kubeconfig.yaml"), ...ports], isolated());
    await operator.hasPrinted(/"msg":"watch failed"/u);
    expect(operator.printed()).toContain("ECONNREFUSED");
    operator.child.kill("SIGTERM");
    expect(await operator.ended).toMatchObject({ code: 0 });
  });

  test("loads each of its chunks, those too that are rarely needed", async () => {
    const chunks = (await readdir(inFolder("program/chunks"))).map((name) => inFolder(`program/chunks/${name}`));
    const urls = chunks.map((path) => pathToFileURL(path).href);
    // One of them is the program itself, which is asked for its version.
    const script = `process.argv = ["node", "wafsync", "--version"]; for (const url of ${JSON.stringify(urls)}) await import(url);`;
    await execute(process.execPath, ["--input-type=module", "--eval", script], { cwd: scratch.path, env: {} });
    expect(chunks.length).toBeGreaterThan(10);
  });

  test("is a program of its own where the system runs scripts, and names no folder of the machine that built it", async () => {
    const names = await readdir(inFolder("program"), { recursive: true, withFileTypes: true });
    const programs = names.filter(({ name }) => name.endsWith(".mjs"));
    for (const { parentPath, name } of programs) {
      const text = await readFile(join(parentPath, name), "utf8");
      expect({ name, isRun: text.startsWith("#!/usr/bin/env node\n") }).toStrictEqual({
        name,
        isRun: name === "wafsync.mjs",
      });
      expect(text).not.toContain(root);
    }
  });
});

test("A build leaves no chunk of an earlier one behind, and nothing else changes", async () => {
  await using scratch = await scratchDirectory({ "dist/chunks/old-ABCDEFGH.mjs": "", "dist/chunks/notes.txt": "mine" });
  const dist = join(scratch.path, "dist");
  const [node = "", ...parameters] = buildCommand({
    folder: dist,
    program: join(dist, "wafsync.mjs"),
    metafile: join(scratch.path, "metafile.json"),
  });
  await execute(node, parameters, { cwd: root });
  const names = await readdir(join(dist, "chunks"));
  const { outputs } = JSON.parse(await readFile(join(scratch.path, "metafile.json"), "utf8")) as { outputs: object };
  const made = Object.keys(outputs).flatMap((path) => /chunks\/(.*)$/u.exec(path)?.[1] ?? []);
  expect(names.sort()).toStrictEqual(["notes.txt", ...made].sort());
});
