// Finds the cluster of a command: by the kubeconfig and context in its options, or else the cluster that kubectl would use. Also
// lists the names of its instances, for completion.
import { environmentForPrograms } from "../app/config.ts";
import { type KubeConfig, kubeConfigCredentials, loadKubeConfig } from "../kube/credentials.ts";
import * as z from "zod";
import packageJson from "../../package.json" with { type: "json" };
import { realClock } from "../async/clock.ts";
import { createApiServer } from "../kube/api-server.ts";
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

/** @throws CommandError if there is no cluster */
export function readKubeConfig({ kubeconfig, context }: ClusterOptions): ChosenCluster {
  try {
    const kubeConfig = loadKubeConfig({ file: kubeconfig, context, environment: environmentForPrograms({}) });
    return { kubeConfig, contextNamespace: kubeConfig.namespace ?? "default" };
  } catch (error) {
    const { message = "the kubeconfig cannot be read", code = "", path } = error as Partial<NodeJS.ErrnoException>;
    throw new CommandError(
      `cannot reach the cluster: ${path === undefined ? message : `the kubeconfig ${path} cannot be read (${code})`}`,
      "Set --kubeconfig and --context, or run wafsync in a pod with a service account. Commands that support folders take -f DIRECTORY instead.",
    );
  }
}

/** The maximum time that a completion waits for names. */
const namesTimeoutMs = 2000;

const listSchema = z.object({
  items: z.array(z.object({ metadata: z.object({ namespace: z.string(), name: z.string() }) })),
});

/** The instances of all namespaces, as `namespace/name`. Rejects, or returns none, if they cannot be read. */
export async function instancesInCluster(options: ClusterOptions, namesMax: number): Promise<readonly string[]> {
  const credentials = kubeConfigCredentials(readKubeConfig(options).kubeConfig);
  const api = createApiServer({ credentials, clock: realClock, userAgent: `wafsync/${packageJson.version}` });
  const path = "/apis/wafsync.dev/v1alpha1/wafinstances";
  const request = { method: "GET", path, query: { limit: namesMax }, timeoutMs: namesTimeoutMs } as const;
  const answer = await api.request<unknown>(request);
  api.close();
  if (!answer.ok) return [];
  return listSchema.parse(answer.value).items.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`);
}
