// Finds the cluster of a command: by the kubeconfig and context in its options, or else the cluster that kubectl would use.
import { environmentForPrograms } from "../app/config.ts";
import { type KubeConfig, loadKubeConfig } from "../kube/credentials.ts";
import type { OptionsOf } from "./commands/declare.ts";
import type { clusterOptions } from "./commands/option-groups.ts";
import { CommandError } from "./describe-error.ts";

/** @throws CommandError if there is no cluster */
export function readKubeConfig({ kubeconfig, context }: Partial<OptionsOf<typeof clusterOptions>>): KubeConfig {
  try {
    return loadKubeConfig({ file: kubeconfig, context, environment: environmentForPrograms({}) });
  } catch (error) {
    const { message = "the kubeconfig cannot be read", code = "", path } = error as Partial<NodeJS.ErrnoException>;
    throw new CommandError(
      `cannot reach the cluster: ${path === undefined ? message : `the kubeconfig ${path} cannot be read (${code})`}`,
      "Set --kubeconfig and --context, or run wafsync in a pod with a service account. Commands that support folders take -f DIRECTORY instead.",
    );
  }
}
