// The objects of an instance, by one consistent read for each kind, before removals: a stale cache cannot unblock anyone.
import { apiGroup, apiVersionName } from "../../kinds/kinds.ts";
import type { ApiFault, ApiResult, ApiServer } from "../../kube/api-server.ts";
import type { KubeObject } from "../../kube/kube-object.ts";
import { listObjects } from "../../kube/verbs.ts";
import { dependsOnLabels } from "../../model/gathered.ts";
import { continuesOf } from "../../model/continues.ts";
import type { DeclaredInstance } from "../../model/declared.ts";
import { entryKinds, guestKinds, nameKey, type ResourceKind } from "../../model/resource.ts";
import type { LabelsOf } from "../gather.ts";
import { refusalOf } from "./attachment.ts";
import { type ClusterObject, coreType, referenceOf, typeOfKind } from "./cluster-object.ts";

export const requestTimeoutMs = 10_000;
export const listTimeoutMs = 30_000;

export interface InstanceObjects {
  readonly instance: DeclaredInstance;
  /** All objects that refer to it, valid or not. */
  readonly referring: readonly ClusterObject[];
  readonly labelsOf: LabelsOf;
}

export type Fresh<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

export interface FreshReading {
  readonly api: ApiServer;
  /** The only namespace that may be read; all if undefined. */
  readonly namespace: string | undefined;
  /** The known labels, if only one namespace may be read, or access depends on none. */
  readonly labelsOf: LabelsOf;
  /** Reduces an object that was read to the form in which it is stored. */
  readonly slim: (kind: ResourceKind, object: ClusterObject) => ClusterObject;
}

/** The current objects of this instance. Never rejects. */
export async function readObjects(
  { api, namespace, labelsOf, slim }: FreshReading,
  instance: DeclaredInstance,
): Promise<Fresh<InstanceObjects>> {
  const { meta, access } = instance;
  const own = nameKey(meta);
  // Without grants, and if it continues no other instance, only objects of the instance's namespace can be meant for it.
  const mayHaveGuests = access.length > 0 || continuesOf(meta).state === "Named";
  const lists = await Promise.all(
    guestKinds.map(async (kind) => {
      const read = await listObjects<ClusterObject>(api, typeOfKind(kind), {
        namespace: namespace ?? (mayHaveGuests ? undefined : meta.namespace),
        fieldSelector: `spec.instanceRef.name=${meta.name}`,
        timeoutMs: listTimeoutMs,
        slim: (object) => slim(kind, object),
      });
      return { kind, read };
    }),
  );
  const referring: ClusterObject[] = [];
  for (const { kind, read } of lists) {
    if (!read.ok) return failedRead(`The ${typeOfKind(kind).plural} of ${own}`, read.fault);
    referring.push(...read.value.items.filter((object) => referenceOf(object) === own));
  }
  if (!dependsOnLabels(instance) || !hasGuests(instance, referring))
    return { ok: true, value: { instance, referring, labelsOf } };
  const labels = await readLabels(api);
  if (!labels.ok) return failedRead("The namespaces", labels.fault);
  return { ok: true, value: { instance, referring, labelsOf: labels.value } };
}

/** Whether objects of other namespaces may be attached, depending on the labels of these. */
export function hasGuests(instance: DeclaredInstance, referring: readonly ClusterObject[]): boolean {
  return referring.some(
    (object) =>
      object.metadata.namespace !== instance.meta.namespace &&
      refusalOf(instance, () => undefined, object) === undefined,
  );
}

/** The current labels of all namespaces. */
export async function readLabels(api: ApiServer): Promise<ApiResult<LabelsOf>> {
  const options = { timeoutMs: listTimeoutMs, metadataOnly: true };
  const read = await listObjects<KubeObject>(api, coreType("Namespace"), options);
  if (!read.ok) return read;
  const labels = new Map(read.value.items.map(({ metadata }) => [metadata.name, metadata.labels ?? {}]));
  return { ...read, value: (name) => labels.get(name) };
}

/**
 * A kind whose CRD is being deleted; undefined if there is none. Its objects disappear one after another, although lists still
 * succeed, and users did not delete the objects that are missing from such a list. During this time, the API server does not offer
 * the verb `create` for the kind. Never rejects.
 */
export async function findTerminatingCrd(api: ApiServer): Promise<Fresh<ResourceKind | undefined>> {
  const path = `/apis/${apiGroup}/${apiVersionName}`;
  type Kinds = { readonly resources?: readonly { readonly name: string; readonly verbs: readonly string[] }[] };
  const read = await api.request<Kinds>({ method: "GET", path, timeoutMs: requestTimeoutMs });
  if (!read.ok && read.fault.code === "Forbidden") return { ok: true, value: undefined };
  if (!read.ok) return failedRead(`The kinds of ${apiGroup}`, read.fault);
  const terminating = (["WafInstance", ...entryKinds] as const).find((kind) => {
    const known = read.value.resources?.find(({ name }) => name === typeOfKind(kind).plural);
    return known?.verbs.includes("create") !== true;
  });
  return { ok: true, value: terminating };
}

function failedRead(subject: string, fault: ApiFault): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem: `${subject} could not be reread: ${fault.message}` };
}
