// Runs kubectl against a control plane of the tests, apart from the settings and caches of whoever runs them.
import { join } from "node:path";
import type { Program } from "./program.ts";
import type { Ended } from "./run-to-end.ts";
import { runToEnd } from "./run-to-end.ts";

export interface KubectlOptions {
  readonly kubeconfig: string;
  /** Kept between calls: the discovery of kubectl is cached here. */
  readonly cacheDirectory: string;
  /** What `-f -` reads. */
  readonly input?: string;
}

/** Never rejects: what went wrong is in code and stderr. */
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
