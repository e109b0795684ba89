// The programs of a control plane, whatever their source, and where they are stored.
import { homedir } from "node:os";
import { join } from "node:path";

/** A file to run, and its first arguments. */
export interface Program {
  readonly file: string;
  readonly leadingArguments: readonly string[];
}

export interface ControlPlanePrograms {
  readonly origin: "Assets" | "Cache" | "Archive" | "Build";
  readonly etcd: Program;
  readonly kubeApiserver: Program;
  /** The envtest archives do not contain it. */
  readonly kubeControllerManager?: Program;
  readonly kubectl: Program;
}

/** A progress message: one line, without a line break. */
export type Report = (line: string) => void;

/** The folder for files that can be recreated. It is never inside the repository. */
export function cacheDirectory(environment: NodeJS.ProcessEnv): string {
  const own = environment["WAFSYNC_CACHE"];
  if (own !== undefined && own !== "") return own;
  const shared = environment["XDG_CACHE_HOME"];
  return join(shared !== undefined && shared !== "" ? shared : join(homedir(), ".cache"), "wafsync");
}

/** The programs in the single binary that the Go module in this folder builds. */
export function programsOfBinary(file: string, origin: "Cache" | "Build"): ControlPlanePrograms {
  return {
    origin,
    etcd: { file, leadingArguments: ["etcd"] },
    kubeApiserver: { file, leadingArguments: ["kube-apiserver"] },
    kubeControllerManager: { file, leadingArguments: ["kube-controller-manager"] },
    kubectl: { file, leadingArguments: ["kubectl"] },
  };
}
