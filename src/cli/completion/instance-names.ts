// The names of instances, to complete `--instance`: those of the folder that the command line names, or those of the cluster.
import { parseArgs } from "node:util";
import type { ClusterOptions } from "../read-kube-config.ts";

/** Whoever presses the tab key waits no longer. */
const clusterTimeoutMs = 2000;
const namesMax = 500;

interface ListedInstances {
  readonly items?: readonly { readonly metadata?: { readonly namespace?: string; readonly name?: string } }[];
}

/** @param words of the command line, behind the name of the program */
export async function instanceNames(words: readonly string[]): Promise<readonly string[]> {
  const { values } = parseArgs({
    args: words.slice(1, -1),
    options: {
      from: { type: "string", short: "f" },
      kubeconfig: { type: "string" },
      context: { type: "string" },
    },
    strict: false,
    allowPositionals: true,
  });
  const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
  const directory = text(values["from"]);
  if (directory !== undefined) {
    const { namesInFolder } = await import("./names-in-folder.ts");
    return (await namesInFolder(directory)).slice(0, namesMax);
  }
  const [kubeconfig, context] = [text(values["kubeconfig"]), text(values["context"])];
  return await namesInCluster({
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(context === undefined ? {} : { context }),
  });
}

async function namesInCluster(options: ClusterOptions): Promise<readonly string[]> {
  // Loads the Kubernetes client.
  const { queryCluster } = await import("../query-cluster.ts");
  const path = "/apis/wafsync.dev/v1alpha1/wafinstances";
  const listed = await queryCluster<ListedInstances>(options, {
    path,
    query: { limit: namesMax },
    timeoutMs: clusterTimeoutMs,
  });
  if ("problem" in listed) return [];
  return (listed.value.items ?? []).map(({ metadata }) => `${metadata?.namespace ?? ""}/${metadata?.name ?? ""}`);
}
