// What ships, and nothing else: a copy of the built folder in an empty directory, run with an empty environment.
// Long: `npm run test:deploy` runs it.
import { execFile } from "node:child_process";
import { cp, mkdir, readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { request } from "undici";
import { builtBundle } from "./support/processes/built-program.ts";
import { buildCommand } from "./support/processes/bundle.ts";
import { runWafsync, startWafsync } from "./support/processes/wafsync-process.ts";
import type { FinishedProcess, RunningProcess } from "./support/processes/wafsync-process.ts";
import { scratchDirectory } from "./support/worlds/scratch-directory.ts";
import type { ScratchDirectory } from "./support/worlds/scratch-directory.ts";
import { instanceDocument, ruleDocument, secretDocument } from "./support/worlds/waf-folder.ts";

const root = join(import.meta.dirname, "..");
const execute = promisify(execFile);
const key = "build-key-0123456789";
const domain = "www.build.example";
const address = "203.0.113.9";

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
  const started: RunningProcess[] = [];
  let baseUrl = "";
  const inFolder = (name: string): string => join(scratch.path, name);

  /** The home folder takes the compiled code, which would go to that of the user who runs the tests. */
  const isolated = () => ({
    program: inFolder("program/wafsync.mjs"),
    workingDirectory: scratch.path,
    environment: { HOME: inFolder("home") },
    isIsolated: true,
  });
  const run = async (...parameters: string[]): Promise<FinishedProcess> => await runWafsync(parameters, isolated());
  const start = (...parameters: string[]): RunningProcess => {
    const running = startWafsync(parameters, isolated());
    started.push(running);
    return running;
  };

  beforeAll(async () => {
    scratch = await scratchDirectory({ "key.txt": key, "kubeconfig.yaml": kubeconfig });
    await mkdir(inFolder("home"));
    await cp(bundle().folder, inFolder("program"), { recursive: true });
    const simulator = start("simulator", "--port", "0", "--control-port", "0", "--key", `${key}=${domain}`);
    await simulator.hasPrinted(/WAF API +http\S+\n/u);
    baseUrl = /WAF API +(http\S+)/u.exec(simulator.printed())?.[1] ?? "";
    await scratch.write("waf/instance.yaml", instanceDocument(baseUrl));
    await scratch.write("waf/secret.yaml", secretDocument(key));
    await scratch.write("waf/rule.yaml", ruleDocument("scanners", { addresses: [address] }));
  });

  afterAll(async () => {
    for (const { child } of started) child.kill("SIGKILL");
    await Promise.all(started.map(async ({ ended }) => await ended));
    await scratch[Symbol.asyncDispose]();
  });

  const directory = () => ["-f", inFolder("waf"), "--allow-insecure-http"];
  const waf = () => ["--base-url", baseUrl, "--key-file", inFolder("key.txt"), "--allow-insecure-http"];

  /** One for each command: calls it as users do, in the order of this list, and sees that it did its work. */
  const trials: Readonly<Record<string, () => Promise<void>>> = {
    validate: async () => {
      const { code, stdout } = await run("validate", ...directory().slice(0, 2));
      expect({ code, stdout }).toStrictEqual({ code: 0, stdout: expect.stringMatching(/valid\.\n$/u) });
    },
    plan: async () => {
      const { code, stdout, stderr } = await run("plan", ...directory());
      expect({ code, stderr }).toStrictEqual({ code: 1, stderr: "" });
      expect(stdout).toContain(address);
    },
    apply: async () => {
      expect(await run("apply", ...directory())).toMatchObject({ code: 0 });
      expect(await run("plan", ...directory())).toMatchObject({ code: 0 });
    },
    run: async () => {
      const running = start("run", ...directory());
      await running.hasPrinted(/Watching/u);
      await scratch.write("waf/rule.yaml", ruleDocument("scanners", { addresses: [address, "203.0.113.10"] }));
      await running.hasPrinted(/Added 1 entry/u);
      running.child.kill("SIGTERM");
      expect(await running.ended).toMatchObject({ code: 0 });
    },
    status: async () => {
      const { code, stdout } = await run("status", ...directory());
      expect({ code, stdout }).toStrictEqual({ code: 0, stdout: expect.stringContaining(domain) });
      const cluster = await run("status", "--kubeconfig", inFolder("kubeconfig.yaml"), "--instance", "shop/main");
      expect(cluster).toMatchObject({ code: 2, stderr: expect.stringContaining("ECONNREFUSED") });
    },
    why: async () => {
      expect(await run("why", address, ...directory())).toMatchObject({ code: 0 });
      expect(await run("why", "203.0.113.99", ...directory())).toMatchObject({ code: 1 });
    },
    block: async () => {
      expect(await run("block", "203.0.113.99", ...directory(), "--for", "2h")).toMatchObject({ code: 0 });
      expect(await run("why", "203.0.113.99", ...directory())).toMatchObject({ code: 0 });
    },
    unblock: async () => {
      expect(await run("unblock", "203.0.113.99", ...directory())).toMatchObject({ code: 0 });
      expect(await run("why", "203.0.113.99", ...directory())).toMatchObject({ code: 1 });
    },
    approve: async () => {
      const { code, stdout } = await run("approve", ...directory(), "--yes");
      expect({ code, stdout }).toStrictEqual({ code: 0, stdout: "Nothing is on hold on shop/main.\n" });
    },
    history: async () => {
      const { code, stdout } = await run("history", "203.0.113.99", ...directory());
      expect({ code, stdout }).toStrictEqual({ code: 0, stdout: expect.stringMatching(/Added[^]*Removed/u) });
    },
    ui: async () => {
      const running = start("ui", ...directory(), "--bind-address", "127.0.0.1:0");
      await running.hasPrinted(/The page is at \S+ /u);
      const url = /page is at (?<url>\S+)/u.exec(running.printed())?.groups?.["url"] ?? "";
      const isShown = async (path: string, text: string): Promise<boolean> => {
        const { body } = await request(`${url}${path}`, { reset: true });
        return (await body.text()).includes(text);
      };
      expect(await isShown("", domain)).toBe(true);
      expect(await isShown("instances/shop/main", domain)).toBe(true);
      expect(await isShown("instances/shop/main/requests", "<svg")).toBe(true);
      running.child.kill("SIGTERM");
      expect(await running.ended).toMatchObject({ code: 0, stderr: "" });
    },
    import: async () => {
      const { code, stdout } = await run("import", ...waf(), "--instance", "copy");
      expect({ code, stdout }).toStrictEqual({ code: 0, stdout: expect.stringContaining(address) });
    },
    "clear-cache": async () => {
      const cleared = await run("clear-cache", ...waf());
      expect(cleared).toMatchObject({ code: 0, stderr: "" });
      expect(cleared.stdout).toContain(domain);
      const cluster = ["--kubeconfig", inFolder("kubeconfig.yaml"), "--instance", "shop/main", "--retries", "0"];
      const { code, stderr } = await run("clear-cache", ...cluster, "--timeout", "5");
      expect({ code, stderr }).toStrictEqual({ code: 2, stderr: expect.stringContaining("ECONNREFUSED") });
    },
    operator: async () => {
      const ports = ["--host", "127.0.0.1", "--health-port", "0", "--metrics-port", "0"];
      const operator = start("operator", "--kubeconfig", inFolder("kubeconfig.yaml"), ...ports);
      await operator.hasPrinted(/"msg":"watch failed"/u);
      expect(operator.printed()).toContain("ECONNREFUSED");
      operator.child.kill("SIGTERM");
      expect(await operator.ended).toMatchObject({ code: 0 });
      expect(await run("operator", "--kubeconfig", "missing.yaml", ...ports)).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/^error: /u),
      });
    },
    logs: async () => {
      const table = await run("logs", ...waf(), "--since", "yesterday", "-o", "csv", "--out", inFolder("rows.csv"));
      expect(table).toMatchObject({ code: 0 });
      expect((await readFile(inFolder("rows.csv"), "utf8")).split("\n").length).toBeGreaterThan(2);
    },
    report: async () => {
      expect(await run("report", ...waf(), "--out", inFolder("report.html"))).toMatchObject({ code: 0 });
      expect(await readFile(inFolder("report.html"), "utf8")).toContain("<svg");
    },
    simulator: async () => {
      const running = start("simulator", "--port", "0", "--log-rows", "10");
      await running.hasPrinted(/WAF API +http\S+\n/u);
      running.child.kill("SIGTERM");
      expect(await running.ended).toMatchObject({ code: 0, stderr: "" });
    },
    completion: async () => {
      const { code, stdout } = await run("completion", "bash");
      expect({ code, stdout }).toStrictEqual({
        code: 0,
        stdout: expect.stringContaining("complete -F _wafsync wafsync"),
      });
      expect(await run("__complete", "--", "logs", "--si")).toMatchObject({
        code: 0,
        stdout: "--since\tstart of the period (default: yesterday, with --follow today)\n:4\n",
      });
    },
    version: async () => {
      const { code, stdout } = await run("version", "-o", "json");
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ node: process.versions.node, commit: expect.anything() });
    },
  };

  test("has commands, and this suite runs each of them", async () => {
    const { code, stdout, stderr } = await run("--help");
    expect({ code, stderr }).toStrictEqual({ code: 0, stderr: "" });
    const listed = stdout.slice(0, stdout.indexOf("Examples:"));
    const commands = [...listed.matchAll(/^ {2}(?<name>[a-z][a-z-]*)/gmu)].map(({ groups }) => groups?.["name"] ?? "");
    expect(commands.filter((name) => name !== "help").sort()).toStrictEqual(Object.keys(trials).sort());
  });

  test.each(Object.keys(trials))("runs `wafsync %s`", async (command) => {
    await trials[command]?.();
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
