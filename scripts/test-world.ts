// `npm run test:world`: tests wafsync with its users' real programs on a real node, in an isolated box. Requires Linux, root,
// Debian's apt and Go. Arguments are passed to jest. For details, see docs/contributing/world.md.
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { findControlPlane } from "../test/support/control-plane/find.ts";
import { withFileLock } from "../test/support/control-plane/file-lock.ts";
import { cacheDirectory } from "../test/support/control-plane/program.ts";
import { runToEnd } from "../test/support/control-plane/run-to-end.ts";
import { findTools } from "../test/tools/find.ts";
import { unpackDebianPackages } from "../test/world/debian-packages.ts";
import { buildImage } from "../test/world/image/build-image.ts";
import { pauseImageName, writePauseImage } from "../test/world/image/pause-image.ts";
import type { WorldPlan } from "../test/world/inside.ts";
import type { WorldProgram } from "../test/world/programs.ts";
import { findWorldProgram, worldPrograms } from "../test/world/programs.ts";

const imageName = "localhost/wafsync";
const imageTag = "0.1.0";
const boxName = "wafsync-world";
const worldDirectory = join(import.meta.dirname, "..", "test", "world");

const lockWaitMsMax = 3_600_000;
/** A part of the names of each program's suites. */
const family: Readonly<Record<WorldProgram, string>> = {
  node: "",
  "source-controller": "flux",
  "kustomize-controller": "flux",
  argocd: "argocd",
};

const report = (line: string): void => void process.stderr.write(`wafsync: ${line}\n`);

/** Ends the run. The last line of the output repeats what is missing. */
class Missing extends Error {}

async function checkMachine(): Promise<void> {
  if (process.platform !== "linux") throw new Missing("Linux is required");
  if (process.getuid?.() !== 0) throw new Missing("root is required: run the command with sudo");
  const namespaces = ["--mount", "--net", "--pid", "--ipc", "--uts", "--cgroup", "--fork", "true"];
  const unshared = await runToEnd("unshare", namespaces, { environment: process.env });
  if (unshared.code !== 0)
    throw new Missing(`the right to create namespaces is required (CAP_SYS_ADMIN, CAP_NET_ADMIN): ${unshared.stderr}`);
  for (const [program, hint] of [
    ["apt-get", "use Debian or a descendant"],
    ["dpkg", "use Debian or a descendant"],
    ["perl", "mmdebstrap needs Perl"],
    ["ip", "install the package iproute2"],
    ["git", "it is needed for the sources of Argo CD and Flux"],
    ["go", "it is needed to build third-party programs"],
  ] as const) {
    const found = await runToEnd("which", [program], { environment: process.env });
    if (found.code !== 0) throw new Missing(`${program} is missing: ${hint}`);
  }
}

async function findPrograms(cache: string): Promise<Partial<Record<WorldProgram, string>>> {
  const programs: Partial<Record<WorldProgram, string>> = {};
  const suites = process.argv.slice(2);
  for (const name of worldPrograms) {
    // If suites are named, only the programs that they need are built.
    if (name !== "node" && suites.length > 0 && !suites.some((suite) => suite.includes(family[name]))) continue;
    const found = await findWorldProgram(name, cache, report);
    if (found.state === "Failed") throw new Missing(`${name} can't be built: ${found.problem}`);
    programs[name] = found.file;
  }
  return programs;
}

async function prepare(cache: string, scratch: string, unpacked: string): Promise<WorldPlan> {
  const controlPlane = await findControlPlane({
    controllerManager: true,
    environment: { ...process.env, KUBEBUILDER_ASSETS: "" },
  });
  if (controlPlane.state === "Missing") throw new Missing(controlPlane.problem);
  const tools = await findTools();
  if (tools.state === "Missing") throw new Missing(tools.problem);
  const programs = await findPrograms(cache);
  const image = await buildImage({ cache, scratch, unpacked, tag: imageTag, report });
  if (image.state === "Failed") throw new Missing(`the image can't be built: ${image.problem}`);
  console.log(`Both builds created the image ${image.id}; its archive has ${Math.round(image.bytes / 1e6)} MB.`);
  return {
    scratch,
    controlPlane: controlPlane.programs.etcd.file,
    pauseImage: pauseImageName,
    archives: [await writePauseImage(join(programs.node ?? "", "pause"), scratch), image.archive],
    image: { name: imageName, tag: imageTag },
    programs,
    helm: dirname(tools.tools.files.helm),
  };
}

function runBox(unpacked: string, scratch: string, planFile: string): Promise<number> {
  const inside = [process.execPath, join(worldDirectory, "inside.ts"), planFile, ...process.argv.slice(2)];
  const box = join(worldDirectory, "box.sh");
  const child = spawn("sh", [box, boxName, unpacked, join(scratch, "mounts"), ...inside], { stdio: "inherit" });
  // box.sh removes the box before it exits.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill("SIGTERM"));
  return new Promise((resolve) => child.once("close", (code) => resolve(code ?? 1)));
}

async function runWorld(cache: string): Promise<number> {
  const scratch = await mkdtemp(join(cache, "world-run-"));
  try {
    await checkMachine();
    const packages = await unpackDebianPackages(cache, report);
    if (packages.state === "Failed") throw new Missing(packages.problem);
    const planFile = join(scratch, "plan.json");
    await writeFile(planFile, JSON.stringify(await prepare(cache, scratch, packages.folder)));
    return await runBox(packages.folder, scratch, planFile);
  } catch (error) {
    if (!(error instanceof Missing)) throw error;
    console.error(`\nTHE WORLD TESTS DID NOT RUN: ${error.message}\nNothing was tested.`);
    return 1;
  } finally {
    await rm(scratch, { recursive: true, force: true, maxRetries: 3 });
  }
}

const cache = cacheDirectory(process.env);
await mkdir(cache, { recursive: true });
const onWait = (holder: number): void => report(`waiting for process ${holder}, which is running the world tests`);
const lock = { waitMsMax: lockWaitMsMax, onWait };
process.exitCode = (await withFileLock(join(cache, "world.lock"), lock, () => runWorld(cache))) ?? 1;
