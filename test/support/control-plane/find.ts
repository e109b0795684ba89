// Finds the programs of a control plane: in KUBEBUILDER_ASSETS if it is set, otherwise in the cache, in the
// pinned archive (unless WAFSYNC_CONTROL_PLANE=build), or by a build from source. WAFSYNC_CONTROL_PLANE=none finds
// nothing, for a quick run of the other tests.
import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { build, findBuilt } from "./build.ts";
import { archiveDirectory, unpackArchive } from "./envtest-archive.ts";
import type { ControlPlanePrograms, Program, Report } from "./program.ts";
import { cacheDirectory, programsOfBinary } from "./program.ts";

export type FindResult =
  | { readonly state: "Found"; readonly programs: ControlPlanePrograms }
  | { readonly state: "Missing"; readonly problem: string };

export interface FindOptions {
  /** Whether kube-controller-manager is needed: garbage collection, namespace deletion, Jobs. */
  readonly controllerManager: boolean;
  readonly environment?: NodeJS.ProcessEnv;
  /** Reports downloads and builds; by default, with a line on stderr. */
  readonly report?: Report;
}

/** Can take minutes for the first build on a machine. Never rejects because something is missing. */
export async function findControlPlane(options: FindOptions): Promise<FindResult> {
  const environment = options.environment ?? process.env;
  const report = options.report ?? ((line: string) => void process.stderr.write(`wafsync: ${line}\n`));
  if (environment["WAFSYNC_CONTROL_PLANE"] === "none")
    return { state: "Missing", problem: "WAFSYNC_CONTROL_PLANE is none" };
  const assets = environment["KUBEBUILDER_ASSETS"];
  if (assets !== undefined && assets !== "") {
    const found = await programsIn(assets, "Assets", environment);
    if (found.state === "Missing") return found;
    if (!options.controllerManager || found.programs.kubeControllerManager !== undefined) return found;
    report(`KUBEBUILDER_ASSETS has no kube-controller-manager, so this run uses other programs`);
  }
  const cache = cacheDirectory(environment);
  const built = await findBuilt(cache);
  if (built !== undefined) return { state: "Found", programs: programsOfBinary(built, "Cache") };
  const problems: string[] = [];
  if (!options.controllerManager && environment["WAFSYNC_CONTROL_PLANE"] !== "build") {
    const archive = await unpackArchive(cache, report);
    if (archive.state === "Unpacked") return programsIn(archiveDirectory(cache), "Archive", environment);
    problems.push(archive.problem);
  }
  const result = await build(cache, report);
  if (result.state === "Built") return { state: "Found", programs: programsOfBinary(result.file, "Build") };
  return { state: "Missing", problem: [...problems, result.problem].join("; ") };
}

async function programsIn(
  directory: string,
  origin: "Assets" | "Archive",
  environment: NodeJS.ProcessEnv,
): Promise<FindResult> {
  const [etcd, kubeApiserver, kubeControllerManager, ownKubectl] = await Promise.all(
    ["etcd", "kube-apiserver", "kube-controller-manager", "kubectl"].map((name) => programAt(join(directory, name))),
  );
  if (etcd === undefined) return { state: "Missing", problem: `${directory} has no etcd` };
  if (kubeApiserver === undefined) return { state: "Missing", problem: `${directory} has no kube-apiserver` };
  const kubectl = ownKubectl ?? (await programOnPath("kubectl", environment));
  if (kubectl === undefined) return { state: "Missing", problem: "kubectl is missing" };
  const required = { origin, etcd, kubeApiserver, kubectl };
  const programs = kubeControllerManager === undefined ? required : { ...required, kubeControllerManager };
  return { state: "Found", programs };
}

async function programOnPath(name: string, environment: NodeJS.ProcessEnv): Promise<Program | undefined> {
  for (const directory of (environment["PATH"] ?? "").split(delimiter)) {
    const program = await programAt(join(directory, name));
    if (program !== undefined) return program;
  }
  return undefined;
}

async function programAt(file: string): Promise<Program | undefined> {
  return access(file, constants.X_OK).then(
    () => ({ file, leadingArguments: [] }),
    () => undefined,
  );
}
