// Builds programs from a Go module of the tests into the cache folder, once for each state of its sources, Go version and
// platform. The first build takes minutes and reports its progress.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { access, mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { constants as osConstants, setPriority } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { realClock } from "../../../src/async/clock.ts";
import { withFileLock } from "./file-lock.ts";
import type { Report } from "./program.ts";
import { runToEnd } from "./run-to-end.ts";

export type BuildResult =
  | { readonly state: "Built"; readonly file: string }
  | { readonly state: "Failed"; readonly problem: string };

/** The programs to build, and their sources. */
export interface GoBuild {
  /** The prefix of the name in the cache. */
  readonly name: string;
  /** The name in messages. */
  readonly title: string;
  readonly sourceDirectory: string;
  /** All files in the source directory that the result depends on: a change to one of them changes the name in the cache. */
  readonly sourceFiles: readonly string[];
  readonly packages: readonly string[];
  readonly flags: readonly string[];
  /** One package creates a file; several packages create a folder with one program for each. */
  readonly makes: "File" | "Folder";
  /** Adds further files before the folder is moved to its final location. Returns the problem, if any. */
  readonly complete?: (folder: string) => Promise<string | undefined>;
}

/** A program whose module is one file. */
export function singleFileProgram(program: Pick<GoBuild, "name" | "title" | "sourceDirectory" | "flags">): GoBuild {
  return { ...program, sourceFiles: ["go.mod", "go.sum", "main.go"], packages: ["."], makes: "File" };
}

const buildMsMax = 60 * 60_000;
const progressIntervalMs = 10_000;
const problemLinesMax = 15;

/** The cached file or folder for these sources, or undefined. If Go is not installed, one from any version of Go is used. */
export async function findBuiltByGo(wanted: GoBuild, cache: string): Promise<string | undefined> {
  const goVersion = await readGoVersion(wanted);
  const sources = await hashSources(wanted);
  if (goVersion !== undefined) {
    const file = join(cache, nameInCache(wanted, sources, goVersion));
    return (await exists(file)) ? file : undefined;
  }
  const names = await readdir(cache).catch(() => []);
  const start = nameInCache(wanted, sources, "");
  const fitting = names.filter((name) => name.startsWith(start) && name.endsWith(platformEnding()));
  return fitting[0] === undefined ? undefined : join(cache, fitting[0]);
}

/** Returns the cached programs, or builds them. */
export async function findOrBuildByGo(wanted: GoBuild, cache: string, report: Report): Promise<BuildResult> {
  const file = await findBuiltByGo(wanted, cache);
  return file === undefined ? await buildByGo(wanted, cache, report) : { state: "Built", file };
}

/** Builds, or waits for another process that is building the same. */
export async function buildByGo(wanted: GoBuild, cache: string, report: Report): Promise<BuildResult> {
  const goVersion = await readGoVersion(wanted);
  if (goVersion === undefined)
    return {
      state: "Failed",
      problem: "Go is required for the build, and is not installed: install Go, and run it again",
    };
  const file = join(cache, nameInCache(wanted, await hashSources(wanted), goVersion));
  await mkdir(cache, { recursive: true });
  const onWait = (holder: number): void => report(`waiting for process ${holder}, which builds ${wanted.title}`);
  const result = await withFileLock(`${file}.lock`, { waitMsMax: buildMsMax, onWait }, async () =>
    (await exists(file)) ? ({ state: "Built", file } as const) : runBuild(wanted, file, report),
  );
  return result ?? { state: "Failed", problem: `${file}.lock was held for too long` };
}

async function runBuild(wanted: GoBuild, file: string, report: Report): Promise<BuildResult> {
  report(`building ${wanted.title}: once, some minutes`);
  const environment = { ...process.env, CGO_ENABLED: "0" };
  const listed = await runToEnd("go", ["list", "-deps", ...wanted.packages], {
    directory: wanted.sourceDirectory,
    environment,
    timeoutMs: buildMsMax,
  });
  if (listed.code !== 0) return { state: "Failed", problem: `go list: ${lastLines(listed.stderr)}` };
  const packageCount = listed.stdout.trim().split("\n").length;
  const unfinished = `${file}.${process.pid}.unfinished`;
  if (wanted.makes === "Folder") await mkdir(unfinished, { recursive: true });
  const problem =
    (await compile(wanted, unfinished, environment, packageCount, report)) ?? (await wanted.complete?.(unfinished));
  if (problem !== undefined) {
    await rm(unfinished, { force: true, recursive: true });
    return { state: "Failed", problem };
  }
  await rename(unfinished, file);
  return { state: "Built", file };
}

/** Returns the problem, or undefined after success. */
async function compile(
  wanted: GoBuild,
  target: string,
  environment: NodeJS.ProcessEnv,
  packageCount: number,
  report: Report,
): Promise<string | undefined> {
  const startMs = realClock.monotonicMs();
  const fixed = ["build", "-v", "-trimpath", "-buildvcs=false"];
  const child = spawn("go", [...fixed, ...wanted.flags, "-o", target, ...wanted.packages], {
    cwd: wanted.sourceDirectory,
    env: environment,
    stdio: ["ignore", "ignore", "pipe"],
  });
  if (child.pid !== undefined) setPriority(child.pid, osConstants.priority.PRIORITY_BELOW_NORMAL);
  const lines: string[] = [];
  createInterface({ input: child.stderr }).on("line", (line) => lines.push(line));
  const progress = setInterval(() => {
    const seconds = Math.round((realClock.monotonicMs() - startMs) / 1000);
    report(`building ${wanted.title}: ${lines.length} of at most ${packageCount} packages after ${seconds} s`);
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

function nameInCache({ name }: GoBuild, sources: string, goVersion: string): string {
  const start = `${name}-${sources}-`;
  return goVersion === "" ? start : `${start}${goVersion}${platformEnding()}`;
}

function platformEnding(): string {
  return `-${process.platform}-${process.arch}`;
}

async function hashSources({ sourceDirectory, sourceFiles }: GoBuild): Promise<string> {
  const hash = createHash("sha256");
  for (const name of sourceFiles) hash.update(await readFile(join(sourceDirectory, name)));
  return hash.digest("hex").slice(0, 16);
}

/** For example go1.26.8, or undefined without Go. */
async function readGoVersion({ sourceDirectory }: GoBuild): Promise<string | undefined> {
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
