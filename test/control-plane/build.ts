// Builds the control plane from the Go module in this folder, once for each state of its sources, Go version and
// platform, into the cache folder. Takes minutes on the first run, and says how far it is.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { access, mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { constants as osConstants, setPriority } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { realClock } from "../../src/async/clock.ts";
import { withFileLock } from "./file-lock.ts";
import type { Report } from "./program.ts";
import { runToEnd } from "./run-to-end.ts";

export type BuildResult =
  | { readonly state: "Built"; readonly file: string }
  | { readonly state: "Failed"; readonly problem: string };

const sourceDirectory = import.meta.dirname;
const sourceFiles = ["go.mod", "go.sum", "main.go"];
const kubernetesVersion = { major: "1", minor: "36", full: "v1.36.3" };
const buildMsMax = 60 * 60_000;
const progressIntervalMs = 10_000;
const problemLinesMax = 15;

/** The binary in the cache that fits these sources, or undefined. Without Go, one by any version of Go will do. */
export async function findBuilt(cache: string): Promise<string | undefined> {
  const goVersion = await readGoVersion();
  const sources = await hashSources();
  if (goVersion !== undefined) {
    const file = join(cache, binaryName(sources, goVersion));
    return (await exists(file)) ? file : undefined;
  }
  const names = await readdir(cache).catch(() => []);
  const fitting = names.filter((name) => name.startsWith(binaryName(sources, "")) && name.endsWith(platformEnding()));
  return fitting[0] === undefined ? undefined : join(cache, fitting[0]);
}

/** Builds, or waits for another process that is building the same. */
export async function build(cache: string, report: Report): Promise<BuildResult> {
  const goVersion = await readGoVersion();
  if (goVersion === undefined) return { state: "Failed", problem: "Go is not installed, so it can't be built" };
  const file = join(cache, binaryName(await hashSources(), goVersion));
  await mkdir(cache, { recursive: true });
  const onWait = (holder: number): void => report(`waiting for process ${holder}, which builds the control plane`);
  const result = await withFileLock(`${file}.lock`, { waitMsMax: buildMsMax, onWait }, async () =>
    (await exists(file)) ? ({ state: "Built", file } as const) : runBuild(file, report),
  );
  return result ?? { state: "Failed", problem: `${file}.lock was held for too long` };
}

async function runBuild(file: string, report: Report): Promise<BuildResult> {
  report("building etcd, kube-apiserver, kube-controller-manager and kubectl: once, some minutes");
  const environment = { ...process.env, CGO_ENABLED: "0" };
  const listed = await runToEnd("go", ["list", "-deps", "."], {
    directory: sourceDirectory,
    environment,
    timeoutMs: buildMsMax,
  });
  if (listed.code !== 0) return { state: "Failed", problem: `go list: ${lastLines(listed.stderr)}` };
  const packageCount = listed.stdout.trim().split("\n").length;
  const unfinished = `${file}.${process.pid}.unfinished`;
  const problem = await compile(unfinished, environment, packageCount, report);
  if (problem !== undefined) {
    await rm(unfinished, { force: true });
    return { state: "Failed", problem };
  }
  await rename(unfinished, file);
  return { state: "Built", file };
}

/** The problem, or undefined if it went well. */
async function compile(
  target: string,
  environment: NodeJS.ProcessEnv,
  packageCount: number,
  report: Report,
): Promise<string | undefined> {
  const startMs = realClock.monotonicMs();
  const args = ["build", "-v", "-trimpath", "-buildvcs=false", "-ldflags", linkerFlags(), "-o", target, "."];
  const child = spawn("go", args, { cwd: sourceDirectory, env: environment, stdio: ["ignore", "ignore", "pipe"] });
  if (child.pid !== undefined) setPriority(child.pid, osConstants.priority.PRIORITY_BELOW_NORMAL);
  const lines: string[] = [];
  createInterface({ input: child.stderr }).on("line", (line) => lines.push(line));
  const progress = setInterval(() => {
    const seconds = Math.round((realClock.monotonicMs() - startMs) / 1000);
    report(`building the control plane: ${lines.length} of at most ${packageCount} packages after ${seconds} s`);
  }, progressIntervalMs);
  const ended = Promise.withResolvers<string | undefined>();
  child.on("error", (error) => ended.resolve(error.message));
  child.on("close", (code) => ended.resolve(code === 0 ? undefined : `go build: ${lastLines(lines.join("\n"))}`));
  try {
    return await ended.promise;
  } finally {
    clearInterval(progress);
  }
}

/** The servers report the version that the linker writes here; without it they call themselves v0.0.0. */
function linkerFlags(): string {
  const target = "k8s.io/component-base/version";
  const { major, minor, full } = kubernetesVersion;
  return `-s -w -X ${target}.gitVersion=${full} -X ${target}.gitMajor=${major} -X ${target}.gitMinor=${minor}`;
}

function binaryName(sources: string, goVersion: string): string {
  const start = `control-plane-${sources}-`;
  return goVersion === "" ? start : `${start}${goVersion}${platformEnding()}`;
}

function platformEnding(): string {
  return `-${process.platform}-${process.arch}`;
}

async function hashSources(): Promise<string> {
  const hash = createHash("sha256");
  for (const name of sourceFiles) hash.update(await readFile(join(sourceDirectory, name)));
  return hash.digest("hex").slice(0, 16);
}

/** For example go1.26.8, or undefined without Go. */
async function readGoVersion(): Promise<string | undefined> {
  const ended = await runToEnd("go", ["env", "GOVERSION"], { directory: sourceDirectory });
  const version = ended.stdout.trim();
  return ended.code === 0 && version !== "" ? version : undefined;
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}

function lastLines(text: string): string {
  return text.trim().split("\n").slice(-problemLinesMax).join("\n");
}
