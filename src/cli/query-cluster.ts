// One question to the API server of the cluster that the options name, for commands that ask nothing else.
import packageJson from "../../package.json" with { type: "json" };
import { realClock } from "../async/clock.ts";
import type { ApiRequest } from "../kube/api-server.ts";
import { createApiServer } from "../kube/api-server.ts";
import { kubeConfigCredentials } from "../kube/credentials.ts";
import { readKubeConfig } from "./read-kube-config.ts";
import type { ClusterOptions } from "./read-kube-config.ts";

export type ClusterAnswer<T> = { readonly value: T } | { readonly problem: string };

/** Never rejects: a kubeconfig that cannot be read is a problem, too. */
export async function queryCluster<T>(
  options: ClusterOptions,
  request: Omit<ApiRequest, "method" | "body">,
): Promise<ClusterAnswer<T>> {
  try {
    const credentials = kubeConfigCredentials(readKubeConfig(options).kubeConfig);
    const api = createApiServer({ credentials, clock: realClock, userAgent: `wafsync/${packageJson.version}` });
    const answer = await api.request<T>({ ...request, method: "GET" });
    await api.close();
    return answer.ok ? { value: answer.value } : { problem: answer.fault.message };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}
