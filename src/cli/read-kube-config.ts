// Finds the cluster of a command: by the kubeconfig and context in its options, or else the cluster that kubectl would use. Also
// sends short queries to it, with validated responses, for commands that need no other requests.
import { environmentForPrograms } from "../app/config.ts";
import type { KubeConfig } from "../kube/credentials.ts";
import * as z from "zod";
import packageJson from "../../package.json" with { type: "json" };
import { realClock } from "../async/clock.ts";
import type { ApiRequest } from "../kube/api-server.ts";
import { createApiServer } from "../kube/api-server.ts";
import { kubeConfigCredentials, loadKubeConfig } from "../kube/credentials.ts";
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

type ClusterAnswer<T> = { readonly value: T } | { readonly problem: string };

const versionTimeoutMs = 5000;
/** The maximum time that a completion waits for names. */
const namesTimeoutMs = 2000;

const versionSchema = z.object({ gitVersion: z.string() });
const listSchema = z.object({
  items: z.array(z.object({ metadata: z.object({ namespace: z.string(), name: z.string() }) })),
});

/** The version of the API server, such as `v1.36.2`. */
export async function serverVersion(options: ClusterOptions): Promise<ClusterAnswer<string>> {
  const answer = await query(options, { path: "/version", timeoutMs: versionTimeoutMs }, versionSchema);
  return "problem" in answer ? answer : { value: answer.value.gitVersion };
}

/** The instances of all namespaces, as `namespace/name`; none if they cannot be read. */
export async function instancesInCluster(options: ClusterOptions, namesMax: number): Promise<readonly string[]> {
  const path = "/apis/wafsync.dev/v1alpha1/wafinstances";
  const answer = await query(options, { path, query: { limit: namesMax }, timeoutMs: namesTimeoutMs }, listSchema);
  if ("problem" in answer) return [];
  return answer.value.items.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`);
}

/** Never rejects: an unreadable kubeconfig is also reported as a problem. */
async function query<T>(
  options: ClusterOptions,
  request: Omit<ApiRequest, "method" | "body">,
  schema: z.ZodType<T>,
): Promise<ClusterAnswer<T>> {
  try {
    const credentials = kubeConfigCredentials(readKubeConfig(options).kubeConfig);
    const api = createApiServer({ credentials, clock: realClock, userAgent: `wafsync/${packageJson.version}` });
    const answer = await api.request<unknown>({ ...request, method: "GET" });
    api.close();
    if (!answer.ok) return { problem: answer.fault.message };
    const parsed = schema.safeParse(answer.value);
    return parsed.success ? { value: parsed.data } : { problem: "the response is not from a Kubernetes API server" };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}
