// wafsync's API clients on a test's control plane. Some of them stop writing, as after a crash: they send no writes
// after a chosen request.
import { realClock } from "../../../src/async/clock.ts";
import { localFault, type ApiRequest, type ApiServer, createApiServer } from "../../../src/kube/api-server.ts";
import { clusterCredentials } from "../builders/cluster-credentials.ts";
import type { ClusterAccess } from "../control-plane/cluster-access.ts";
import { collectionOf, type Manifest } from "../builders/manifests.ts";

/** With admin permissions. The caller must close it. */
export function apiClient({ url, caFile, adminToken }: ClusterAccess): ApiServer {
  const credentials = clusterCredentials({ server: url, caFile, token: adminToken });
  return createApiServer({ credentials, clock: realClock });
}

export interface WatchedClient extends ApiServer {
  /** Every request that was sent, as `METHOD /path`. */
  readonly sent: readonly string[];
}

/** Sends this number of writes, and fails all later writes without sending them. Reads are always sent. */
export function crashingClient(api: ApiServer, writesLeft: number): WatchedClient {
  const sent: string[] = [];
  let left = writesLeft;
  return {
    sent,
    request: async <T>(request: ApiRequest) => {
      if (request.method !== "GET") {
        if (left <= 0) return { ok: false, fault: localFault("Unavailable", "The connection was cut.") } as const;
        left -= 1;
      }
      sent.push(`${request.method} ${request.path}`);
      return await api.request<T>(request);
    },
    openStream: async (request) => await api.openStream(request),
    close: () => undefined,
  };
}

/** Records the requests without changing them. */
export function watchedClient(api: ApiServer): WatchedClient {
  return crashingClient(api, Number.POSITIVE_INFINITY);
}

/** Creates the objects, one after another; rejects unless all are accepted. */
export async function createAll(cluster: ClusterAccess, ...manifests: readonly Manifest[]): Promise<void> {
  for (const manifest of manifests) {
    const answer = await cluster.request({ method: "POST", path: collectionOf(manifest), body: manifest });
    if (answer.status !== 201) throw new Error(`${manifest.metadata.name}: ${JSON.stringify(answer.body)}`);
  }
}

/** Applies a merge patch, and returns the new object. */
export async function patchObject(
  cluster: ClusterAccess,
  manifest: Manifest,
  body: object,
  subresource = "",
): Promise<unknown> {
  const path = `${collectionOf(manifest)}/${manifest.metadata.name}${subresource}`;
  const answer = await cluster.request({ method: "PATCH", path, body, contentType: "application/merge-patch+json" });
  if (answer.status !== 200) throw new Error(`PATCH ${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

export async function deleteManifest(cluster: ClusterAccess, manifest: Manifest): Promise<void> {
  const path = `${collectionOf(manifest)}/${manifest.metadata.name}`;
  const answer = await cluster.request({ method: "DELETE", path });
  if (answer.status >= 300) throw new Error(`DELETE ${path}: ${JSON.stringify(answer.body)}`);
}
