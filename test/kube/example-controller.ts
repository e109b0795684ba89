// An example of a controller: copies the labels `example.org/…` of each Namespace to its ConfigMaps, and keeps them so.
import type { Clock } from "../../src/async/clock.ts";
import { KeyedQueue, type WorkHandler } from "../../src/async/keyed-queue.ts";
import type { ApiServer } from "../../src/kube/api-server.ts";
import type { KubeObject } from "../../src/kube/kube-object.ts";
import { ListWatch } from "../../src/kube/list-watch.ts";
import type { ResourceType } from "../../src/kube/resource-path.ts";
import { createObjectStore, type ObjectChange, type ObjectStore } from "../../src/kube/store.ts";
import { mergePatchObject } from "../../src/kube/verbs.ts";

export interface ExampleOptions {
  readonly api: ApiServer;
  readonly clock: Clock;
  readonly random: () => number;
}

const core = { group: "", version: "v1" } as const;
const namespaceType: ResourceType = { ...core, plural: "namespaces", namespaced: false };
const configMapType: ResourceType = { ...core, plural: "configmaps", namespaced: true };

/** Runs until the signal aborts. Never rejects. */
export async function copyLabels({ api, clock, random }: ExampleOptions, signal: AbortSignal): Promise<void> {
  // One key for each namespace: any number of changes in it cause one run, and two runs never overlap.
  const queue = new KeyedQueue<string>({ clock, random });
  const namespaces = createObjectStore<KubeObject>();
  const configMaps = createObjectStore<KubeObject>({ namespace: ({ metadata }) => [metadata.namespace ?? ""] });
  const watch = (type: ResourceType, store: ObjectStore<KubeObject>) =>
    new ListWatch<KubeObject>({
      api,
      clock,
      random,
      type,
      store,
      metadataOnly: true,
      onChange: ({ object: { metadata } }: ObjectChange<KubeObject>) => {
        queue.add(metadata.namespace ?? metadata.name, { priority: "Change", reason: `${type.plural} changed` });
      },
    });
  const watches = [watch(namespaceType, namespaces), watch(configMapType, configMaps)];

  const handle: WorkHandler<string> = async (name) => {
    const namespace = namespaces.get(name);
    if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) return {};
    for (const configMap of configMaps.listBy("namespace", name)) {
      const labels = labelPatch(labelsOf(configMap), labelsOf(namespace));
      if (Object.keys(labels).length === 0) continue;
      const address = { namespace: name, name: configMap.metadata.name };
      const patched = await mergePatchObject(api, configMapType, address, { metadata: { labels } });
      // An error retries the key with backoff; other namespaces continue meanwhile.
      if (!patched.ok && patched.fault.code !== "NotFound") throw new Error(patched.fault.message);
    }
    return {};
  };

  const watching = watches.map(async (one) => await one.run(signal));
  // Before both stores are complete, a missing object might only not have been read yet.
  await Promise.all(watches.map(async (one) => await one.whenSynced()));
  await Promise.all([queue.run({ workers: 4, handle }, signal), ...watching]);
}

function labelsOf({ metadata: { labels = {} } }: KubeObject): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(labels).filter(([label]) => label.startsWith("example.org/")));
}

/** The labels to set, and null for those to remove. */
function labelPatch(is: Readonly<Record<string, string>>, wanted: Readonly<Record<string, string>>) {
  const removed = Object.keys(is).map((label): [string, string | null] => [label, wanted[label] ?? null]);
  return Object.fromEntries([...removed, ...Object.entries(wanted)].filter(([label, value]) => is[label] !== value));
}
