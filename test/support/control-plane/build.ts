// Builds the control plane from the Go module in this folder, and stores it in the cache folder.
import type { BuildResult } from "./go-build.ts";
import { buildByGo, findBuiltByGo, singleFileProgram } from "./go-build.ts";
import type { Report } from "./program.ts";

const kubernetesVersion = { major: "1", minor: "36", full: "v1.36.3" };

const controlPlane = singleFileProgram({
  name: "control-plane",
  title: "etcd, kube-apiserver, kube-controller-manager and kubectl",
  sourceDirectory: import.meta.dirname,
  flags: ["-ldflags", kubernetesLinkerFlags()],
});

/** The cached binary for these sources, or undefined. If Go is not installed, a binary from any version of Go is used. */
export async function findBuilt(cache: string): Promise<string | undefined> {
  return findBuiltByGo(controlPlane, cache);
}

/** Builds, or waits for another process that is building the same. */
export async function build(cache: string, report: Report): Promise<BuildResult> {
  return buildByGo(controlPlane, cache, report);
}

/** The servers report the version that the linker sets here; without it, they report v0.0.0. */
export function kubernetesLinkerFlags(): string {
  const target = "k8s.io/component-base/version";
  const { major, minor, full } = kubernetesVersion;
  return `-s -w -X ${target}.gitVersion=${full} -X ${target}.gitMajor=${major} -X ${target}.gitMinor=${minor}`;
}
