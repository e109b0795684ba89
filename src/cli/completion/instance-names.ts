// The names of instances, to complete `--instance`: those of the folder that the command line names, or those of the cluster.
import { parseArgs } from "node:util";
import { readEnvironment } from "../../app/config.ts";
import { realClock } from "../../async/clock.ts";
import { nameKey } from "../../model/resource.ts";

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
  const names =
    directory === undefined
      ? await namesInCluster(text(values["kubeconfig"]), text(values["context"]))
      : await namesInFolder(directory);
  return names.slice(0, namesMax);
}

async function namesInFolder(directory: string): Promise<readonly string[]> {
  const { createDirectorySource } = await import("../../source/directory/directory-source.ts");
  const environmentKey = readEnvironment().apiKey;
  const source = createDirectorySource({ directory, stateDirectory: undefined, environmentKey, clock: realClock });
  try {
    await source.load();
    return source.instances().map(nameKey);
  } finally {
    await source.close();
  }
}

async function namesInCluster(file: string | undefined, context: string | undefined): Promise<readonly string[]> {
  const { kubeConfigCredentials, loadKubeConfig } = await import("../../kube/credentials.ts");
  const { createApiServer } = await import("../../kube/api-server.ts");
  const kubeConfig = loadKubeConfig({
    ...(file === undefined ? {} : { file }),
    ...(context === undefined ? {} : { context }),
  });
  const api = createApiServer({ credentials: kubeConfigCredentials(kubeConfig), clock: realClock });
  try {
    const listed = await api.request<ListedInstances>({
      method: "GET",
      path: "/apis/wafsync.dev/v1alpha1/wafinstances",
      query: { limit: namesMax },
      timeoutMs: clusterTimeoutMs,
    });
    if (!listed.ok) return [];
    return (listed.value.items ?? []).map(({ metadata }) => `${metadata?.namespace ?? ""}/${metadata?.name ?? ""}`);
  } finally {
    await api.close();
  }
}
