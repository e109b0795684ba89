// Finds the cluster of a command: by the kubeconfig and context in its options, or else the cluster that kubectl would use.
import type { KubeConfig } from "@kubernetes/client-node/dist/config.js";
import { loadKubeConfig } from "../kube/credentials.ts";
import { CommandError } from "./describe-error.ts";

export interface ClusterOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
}

export interface ChosenCluster {
  readonly kubeConfig: KubeConfig;
  /** The namespace of the context. */
  readonly contextNamespace: string;
}

/** The server that the client falls back to. A connection error about it would mislead users. */
const fallbackServer = "http://localhost:8080";

/** @throws CommandError if there is no cluster */
export function readKubeConfig({ kubeconfig, context }: ClusterOptions): ChosenCluster {
  try {
    const kubeConfig = loadKubeConfig({
      ...(kubeconfig === undefined ? {} : { file: kubeconfig }),
      ...(context === undefined ? {} : { context }),
    });
    const cluster = kubeConfig.getCurrentCluster();
    if (cluster === null) throw new RangeError("the kubeconfig does not name a cluster");
    if (kubeconfig === undefined && cluster.server === fallbackServer) {
      throw new RangeError("there is no kubeconfig, and wafsync does not run in a pod");
    }
    const contextNamespace = kubeConfig.getContextObject(kubeConfig.getCurrentContext())?.namespace ?? "default";
    return { kubeConfig, contextNamespace };
  } catch (error) {
    const { message = "the kubeconfig cannot be read", code = "", path } = error as Partial<NodeJS.ErrnoException>;
    throw new CommandError(
      `cannot reach the cluster: ${path === undefined ? message : `the kubeconfig ${path} cannot be read (${code})`}`,
      "Set --kubeconfig and --context, or run wafsync in a pod with a service account. Commands that support folders take -f DIRECTORY instead.",
    );
  }
}
