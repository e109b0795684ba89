// The programs of a control plane, wherever they come from, and where they are kept.
import { homedir } from "node:os";
import { join } from "node:path";

/** A file to run, and the arguments that come before all others. */
export interface Program {
  readonly file: string;
  readonly leadingArguments: readonly string[];
}

export interface ControlPlanePrograms {
  readonly origin: "Assets" | "Cache" | "Archive" | "Build";
  readonly etcd: Program;
  readonly kubeApiserver: Program;
  /** The envtest archives do not carry it. */
  readonly kubeControllerManager?: Program;
  readonly kubectl: Program;
}

/** What is asked for on the way: one line, without line break. */
export type Report = (line: string) => void;

/** The folder for what can be made again: never inside the repository. */
export function cacheDirectory(environment: NodeJS.ProcessEnv): string {
  const own = environment["WAFSYNC_CACHE"];
  if (own !== undefined && own !== "") return own;
  const shared = environment["XDG_CACHE_HOME"];
  return join(shared !== undefined && shared !== "" ? shared : join(homedir(), ".cache"), "wafsync");
}

/** The programs inside the one binary that the Go module here builds. */
export function programsOfBinary(file: string, origin: "Cache" | "Build"): ControlPlanePrograms {
  return {
    origin,
    etcd: { file, leadingArguments: ["etcd"] },
    kubeApiserver: { file, leadingArguments: ["kube-apiserver"] },
    kubeControllerManager: { file, leadingArguments: ["kube-controller-manager"] },
    kubectl: { file, leadingArguments: ["kubectl"] },
  };
}
