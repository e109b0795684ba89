// Builds programs from a Go module of the tests into the cache folder, once for each state of its sources, Go version and
// platform. The first build takes minutes and reports its progress on stderr.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { access, mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { constants as osConstants, setPriority } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { realClock } from "../../../src/async/clock.ts";
import { cacheDirectory } from "./cache-directory.ts";
import { runToEnd } from "./run-to-end.ts";

export type FoundProgram =
  | { readonly state: "Found"; readonly file: string }
  | { readonly state: "Missing"; readonly problem: string };

/** The programs to build, and their sources. */
export interface GoBuild {
  /** The prefix of the name in the cache. */
  readonly name: string;
  /** The name in messages. */
  readonly title: string;
  readonly sourceDirectory: string;
  /** All files in the source directory that the result depends on: a change to one of them changes the name in the cache. */
  readonly sourceFiles?: readonly string[];
  /** One package creates a file; several packages create a folder with one program for each. */
  readonly packages?: readonly string[];
  readonly flags: readonly string[];
  /** Adds further files before the folder is moved to its final location. Returns the problem, if any. */
  readonly complete?: (folder: string) => Promise<string | undefined>;
}

const buildMsMax = 60 * 60_000;
const progressIntervalMs = 10_000;
const problemLinesMax = 15;
const platform = `-${process.platform}-${process.arch}`;

/**
 * The cached programs for these sources, or else a new build. If Go is not installed, a build of any version of Go is used. Two
 * processes may build the same at once: then one build is kept. Never rejects because something is missing.
 */
export async function findOrBuild(wanted: GoBuild, environment: NodeJS.ProcessEnv): Promise<FoundProgram> {
  const cache = cacheDirectory(environment);
  const start = `${wanted.name}-${await hashSources(wanted)}-`;
  const goVersion = await readGoVersion(wanted);
  if (goVersion === undefined) {
    const names = await readdir(cache).catch(() => []);
    const other = names.find((name) => name.startsWith(start) && name.endsWith(platform));
    if (other !== undefined) return { state: "Found", file: join(cache, other) };
    return {
      state: "Missing",
      problem: `Go builds ${wanted.title}, and is not installed: install Go, and run it again`,
    };
  }
  const file = join(cache, `${start}${goVersion}${platform}`);
  if (await exists(file)) return { state: "Found", file };
  await mkdir(cache, { recursive: true });
  const unfinished = `${file}.${process.pid}.unfinished`;
  const problem = await build(wanted, unfinished);
  if (problem === undefined) await rename(unfinished, file).catch(() => undefined);
  await rm(unfinished, { force: true, recursive: true });
  return problem === undefined ? { state: "Found", file } : { state: "Missing", problem };
}

/** Returns the problem, or undefined after success. */
async function build(wanted: GoBuild, target: string): Promise<string | undefined> {
  const { title, sourceDirectory: directory, packages = ["."], complete } = wanted;
  report(`building ${title}: once, some minutes`);
  const environment = { ...process.env, CGO_ENABLED: "0" };
  const options = { directory, environment, timeoutMs: buildMsMax };
  const listed = await runToEnd("go", ["list", "-deps", ...packages], options);
  if (listed.code !== 0) return `go list: ${lastLines(listed.stderr)}`;
  if (packages.length > 1) await mkdir(target, { recursive: true });
  const packageCount = listed.stdout.trim().split("\n").length;
  return (await compile(wanted, target, environment, packageCount)) ?? (await complete?.(target));
}

/** Returns the problem, or undefined after success. */
async function compile(
  { title, sourceDirectory, packages = ["."], flags }: GoBuild,
  target: string,
  environment: NodeJS.ProcessEnv,
  packageCount: number,
): Promise<string | undefined> {
  const startMs = realClock.monotonicMs();
  const child = spawn("go", ["build", "-v", "-trimpath", "-buildvcs=false", ...flags, "-o", target, ...packages], {
    cwd: sourceDirectory,
    env: environment,
    stdio: ["ignore", "ignore", "pipe"],
  });
  if (child.pid !== undefined) setPriority(child.pid, osConstants.priority.PRIORITY_BELOW_NORMAL);
  const lines: string[] = [];
  createInterface({ input: child.stderr }).on("line", (line) => lines.push(line));
  const progress = setInterval(() => {
    const seconds = Math.round((realClock.monotonicMs() - startMs) / 1000);
    report(`building ${title}: ${lines.length} of at most ${packageCount} packages after ${seconds} s`);
  }, progressIntervalMs);
  const ended = Promise.withResolvers<string | undefined>();
  child.on("error", (error) => ended.resolve(error.message));
  child.on("close", (code) => ended.resolve(code === 0 ? undefined : `go build: ${lastLines(lines.join("\n"))}`));
  return await ended.promise.finally(() => clearInterval(progress));
}

async function hashSources({
  sourceDirectory,
  sourceFiles = ["go.mod", "go.sum", "main.go"],
}: GoBuild): Promise<string> {
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

function report(line: string): void {
  process.stderr.write(`wafsync: ${line}\n`);
}

function lastLines(text: string): string {
  return text.trim().split("\n").slice(-problemLinesMax).join("\n");
}
