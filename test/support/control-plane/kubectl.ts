// Runs kubectl against a control plane of the tests, independent of the user's settings and caches.
import { join } from "node:path";
import type { Program } from "./program.ts";
import type { Ended } from "./run-to-end.ts";
import { runToEnd } from "./run-to-end.ts";

export interface KubectlOptions {
  readonly kubeconfig: string;
  /** This folder is kept between calls, because it contains kubectl's discovery cache. */
  readonly cacheDirectory: string;
  /** What `-f -` reads. */
  readonly input?: string;
}

/** Never rejects: the exit code and stderr report failures. */
export async function runKubectl(program: Program, args: readonly string[], options: KubectlOptions): Promise<Ended> {
  return runToEnd(program.file, [...program.leadingArguments, ...args], {
    environment: {
      PATH: process.env["PATH"],
      HOME: options.cacheDirectory,
      KUBECONFIG: options.kubeconfig,
      KUBECACHEDIR: join(options.cacheDirectory, "kubectl-cache"),
      KUBERC: "off",
    },
    ...(options.input === undefined ? {} : { input: options.input }),
  });
}
