// The namespaces of a fresh read of an instance: only those with access, so that objects in other namespaces cause no cost. With
// more than a few namespaces, one list of the whole cluster is cheaper.
import type { ApiServer } from "../../kube/api-server.ts";
import type { KubeObject } from "../../kube/kube-object.ts";
import { getObject, listObjects } from "../../kube/verbs.ts";
import { mapConcurrently } from "../../async/map-concurrently.ts";
import { dependsOnLabels } from "../../model/attachment.ts";
import type { DeclaredInstance, LabelSelector } from "../../model/declared.ts";
import { failedRead, type Confirmed } from "./confirmed.ts";
import type { LabelsOf, NamespaceLabels } from "./attached-namespaces.ts";
import { namespaceType } from "./cluster-object.ts";

/** Above this number, one list of the whole cluster is read. */
export const namespacesMax = 20;
const readsAtOnceMax = 4;
const requestTimeoutMs = 10_000;
const listTimeoutMs = 30_000;

export interface ConfirmScope {
  /** Undefined for the whole cluster. */
  readonly namespaces: readonly string[] | undefined;
  readonly labels: Map<string, NamespaceLabels>;
}

interface ScopeContext {
  readonly api: ApiServer;
  /** The only namespace of this operator; all namespaces if undefined. */
  readonly namespace: string | undefined;
}

/** The namespaces with access, and the labels of those that were selected by labels. Never rejects. */
export async function scopeOf(
  { api, namespace }: ScopeContext,
  { access, meta }: DeclaredInstance,
): Promise<Confirmed<ConfirmScope>> {
  const labels = new Map<string, NamespaceLabels>();
  if (namespace !== undefined) return { ok: true, value: { namespaces: [namespace], labels } };
  const named = new Set([meta.namespace]);
  for (const { namespaces } of access) {
    if (namespaces.from === "All" || isEverything(namespaces)) {
      return { ok: true, value: { namespaces: undefined, labels } };
    }
    if (namespaces.from === "Names") for (const name of namespaces.names) named.add(name);
    if (namespaces.from !== "Selector") continue;
    const read = await readSelected(api, namespaces.selector);
    if (!read.ok) return read;
    for (const [name, ofName] of read.value) {
      named.add(name);
      labels.set(name, ofName);
    }
  }
  return { ok: true, value: { namespaces: named.size > namespacesMax ? undefined : [...named], labels } };
}

/** The labels of these namespaces, if access depends on them. A namespace that does not exist has none. Never rejects. */
export async function labelsFor(
  { api, namespace: only }: ScopeContext,
  instance: DeclaredInstance,
  namespaces: ReadonlySet<string>,
  known: ReadonlyMap<string, NamespaceLabels>,
): Promise<Confirmed<LabelsOf>> {
  const labels = new Map(known);
  const missing = [...namespaces].filter((name) => name !== instance.meta.namespace && !labels.has(name));
  if (only !== undefined || !dependsOnLabels(instance) || missing.length === 0) {
    return { ok: true, value: (name) => labels.get(name) };
  }
  if (missing.length > namespacesMax) {
    const read = await readSelected(api, undefined);
    if (!read.ok) return read;
    return { ok: true, value: (name) => read.value.get(name) };
  }
  let failure: Confirmed<never> | undefined;
  await mapConcurrently(missing, readsAtOnceMax, async (name) => {
    const read = await getObject<KubeObject>(api, namespaceType, { name }, { timeoutMs: requestTimeoutMs });
    if (read.ok) labels.set(name, read.value.metadata.labels ?? {});
    else if (read.fault.code !== "NotFound") failure = failedRead(`Namespace ${name}`, read.fault);
  });
  return failure ?? { ok: true, value: (name) => labels.get(name) };
}

async function readSelected(
  api: ApiServer,
  selector: LabelSelector | undefined,
): Promise<Confirmed<ReadonlyMap<string, NamespaceLabels>>> {
  const read = await listObjects<KubeObject>(api, namespaceType, {
    timeoutMs: listTimeoutMs,
    metadataOnly: true,
    ...(selector === undefined ? {} : { labelSelector: selectorText(selector) }),
  });
  if (!read.ok) return failedRead("The namespaces", read.fault);
  return { ok: true, value: new Map(read.value.items.map(({ metadata }) => [metadata.name, metadata.labels ?? {}])) };
}

function isEverything(namespaces: DeclaredInstance["access"][number]["namespaces"]): boolean {
  return namespaces.from === "Selector" && selectorText(namespaces.selector) === "";
}

/** In the query format of the API server. */
export function selectorText({ matchLabels, matchExpressions }: LabelSelector): string {
  const labels = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`);
  const terms = matchExpressions.map(({ key, operator, values }) => {
    switch (operator) {
      case "Exists":
        return key;
      case "DoesNotExist":
        return `!${key}`;
      case "In":
        return `${key} in (${values.join(",")})`;
      case "NotIn":
        return `${key} notin (${values.join(",")})`;
    }
  });
  return [...labels, ...terms].join(",");
}
