// Short queries to the API server that the options select, with validated responses, for commands that need no other requests.
import * as z from "zod";
import packageJson from "../../package.json" with { type: "json" };
import { realClock } from "../async/clock.ts";
import type { ApiRequest } from "../kube/api-server.ts";
import { createApiServer } from "../kube/api-server.ts";
import { kubeConfigCredentials } from "../kube/credentials.ts";
import { readKubeConfig } from "./read-kube-config.ts";
import type { ClusterOptions } from "./read-kube-config.ts";

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
