// A source that watches a control plane, and what its suites ask of it.
import { realClock } from "../../../src/async/clock.ts";
import type { ApiServer } from "../../../src/kube/api-server.ts";
import type { Gathered } from "../../../src/model/gathered.ts";
import { type ObjectName, type ResourceKind, resourceKinds } from "../../../src/model/resource.ts";
import type { Unattached } from "../../../src/source/cluster/attachment.ts";
import { ClusterSource } from "../../../src/source/cluster/cluster-source.ts";
import { installDefinitions, waitFor } from "../../support/builders/cluster-objects.ts";
import type { Manifest } from "../../support/builders/manifests.ts";
import type { ClusterAccess } from "../../support/control-plane/cluster-access.ts";
import { apiClient, watchedClient } from "../../support/fakes/api-clients.ts";

const waitMs = 30_000;

/** A source that nobody listens to. It watches only when it runs. */
export function sourceOver(api: ApiServer, namespace?: string): ClusterSource {
  return new ClusterSource({ api, clock: realClock, random: Math.random, namespace, onChange: () => undefined });
}

export type WatchingSource = Awaited<ReturnType<typeof watchingSource>>;

/** Installs the CRDs, and starts a source, which the suite must close. @param namespace undefined for all */
export async function watchingSource(cluster: ClusterAccess, namespace?: string) {
  await installDefinitions(cluster);
  const api = apiClient(cluster);
  const client = watchedClient(api);
  const source = sourceOver(client, namespace);
  const end = new AbortController();
  const running = source.run(end.signal);
  await source.watches.whenSynced();
  return {
    api,
    /** The client of the source, which records its requests. */
    client,
    source,
    /** Waits until the watch shows the object, in this version if it is given. */
    seen: async ({ kind, metadata }: Manifest, written?: unknown): Promise<void> => {
      const version = (written as { metadata: { resourceVersion: string } } | undefined)?.metadata.resourceVersion;
      await waitFor(`${kind} ${metadata.name} in the store`, waitMs, async () => {
        const stored = source.objectOf({ kind: kind as ResourceKind, ...metadata });
        if (stored === undefined) return undefined;
        return version === undefined || stored.metadata.resourceVersion === version ? true : undefined;
      });
    },
    unattached: (): Unattached[] =>
      resourceKinds.flatMap((kind) => source.objects(kind).flatMap((object) => source.unattached.find(object) ?? [])),
    gather: async (name: ObjectName): Promise<Gathered> => {
      const gathered = await source.gather(name);
      if (gathered === undefined) throw new Error("there is no such instance");
      return gathered;
    },
    close: async (): Promise<void> => {
      end.abort();
      await running;
      api.close();
    },
  };
}
