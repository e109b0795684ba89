// The objects of an instance, by one consistent read for each kind: before removals, so that a stale cache cannot unblock anyone, and for
// commands, with the permissions of their users.
import { apiGroup, apiVersionName } from "../../kinds/kinds.ts";
import type { ApiFault, ApiResult } from "../../kube/api-result.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import { isRecord, type KubeObject } from "../../kube/kube-object.ts";
import { listObjects } from "../../kube/verbs.ts";
import { dependsOnLabels } from "../../model/attachment.ts";
import type { DeclaredInstance } from "../../model/declared.ts";
import {
  entryKinds,
  type GuestKind,
  guestKinds,
  nameKey,
  type ObjectName,
  type ResourceKind,
} from "../../model/resource.ts";
import { byGuestKind, type LabelsOf } from "../gather.ts";
import { refusalOf } from "./attachment.ts";
import { type ClusterObject, instanceNameOf, namespaceType, typeOfKind } from "./cluster-object.ts";

export const requestTimeoutMs = 10_000;
export const listTimeoutMs = 30_000;
/** The maximum size of a page: several times that of an object, and parsed in well below 100 ms. */
const pageBytesMax = 16 * 1024 * 1024;

/** All objects of each kind that refer to an instance, valid or not. */
export type ReferringObjects = Readonly<Record<GuestKind, readonly ClusterObject[]>>;

export interface InstanceObjects {
  readonly instance: DeclaredInstance;
  readonly referring: ReferringObjects;
  readonly labelsOf: LabelsOf;
}

export type Fresh<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

export interface FreshReading {
  readonly api: ApiServer;
  readonly kinds: readonly GuestKind[];
  /** The only namespace to list; all namespaces if undefined. */
  readonly scope: string | undefined;
  /** The known labels, where those of all namespaces can't or need not be read. */
  readonly labelsOf: LabelsOf;
  /** Reduces an object that was read to the form in which it is stored. */
  readonly slim: (kind: ResourceKind, object: ClusterObject) => ClusterObject;
  /** Called with what is left out because it may not be read; without it, the whole read fails. */
  readonly onGap?: (gap: string) => void;
}

/** The current objects of the instance. Never rejects. */
export async function readObjects(reading: FreshReading, instance: DeclaredInstance): Promise<Fresh<InstanceObjects>> {
  const lists = await Promise.all(
    reading.kinds.map(async (kind) => [kind, await listKind(reading, kind, instance)] as const),
  );
  const objects = new Map<GuestKind, readonly ClusterObject[]>();
  for (const [kind, listed] of lists) {
    if (!listed.ok) return listed;
    objects.set(kind, listed.value);
  }
  const referring = byGuestKind((kind) => objects.get(kind) ?? []);
  const labels = await readLabels(reading, instance, referring);
  return labels.ok ? { ok: true, value: { instance, referring, labelsOf: labels.value } } : labels;
}

/** Without permission for all namespaces, a command reads that of the instance. */
async function listKind(
  { api, scope, slim, onGap }: FreshReading,
  kind: GuestKind,
  instance: DeclaredInstance,
): Promise<Fresh<readonly ClusterObject[]>> {
  const { plural } = typeOfKind(kind);
  const { meta } = instance;
  const read = async (within: string | undefined) => await listReferring(api, kind, meta, within, slim);
  let listed = await read(scope);
  if (!listed.ok && onGap !== undefined && scope === undefined && listed.fault.code === "Forbidden") {
    onGap(`You are not allowed to list ${plural} in all namespaces: objects in other namespaces are not considered.`);
    listed = await read(meta.namespace);
  }
  if (listed.ok) return listed;
  if (onGap === undefined) return failedRead(`The ${plural} of ${nameKey(meta)}`, listed.fault);
  const isForbidden = listed.fault.code === "Forbidden";
  onGap(
    isForbidden
      ? `You are not allowed to list ${plural} in namespace ${meta.namespace}: ask for this permission.`
      : `The ${plural} cannot be read: ${listed.fault.message}`,
  );
  return { ok: true, value: [] };
}

/** The objects of a kind that refer to the instance: a consistent snapshot. */
async function listReferring(
  api: ApiServer,
  kind: GuestKind,
  instance: ObjectName,
  scope: string | undefined,
  slim: FreshReading["slim"],
): Promise<ApiResult<readonly ClusterObject[]>> {
  const listed = await listObjects<ClusterObject>(api, typeOfKind(kind), {
    ...(scope === undefined ? {} : { namespace: scope }),
    fieldSelector: `spec.instanceRef.name=${instance.name}`,
    timeoutMs: listTimeoutMs,
    bodyBytesMax: pageBytesMax,
    slim: (object) => slim(kind, object),
  });
  if (!listed.ok) return listed;
  const isMeant = (object: ClusterObject): boolean => {
    const of = instanceNameOf(object);
    return of !== undefined && nameKey(of) === nameKey(instance);
  };
  return { ...listed, value: listed.value.items.filter(isMeant) };
}

/** The current labels of all namespaces, if access depends on them. A command knows none, and feeds may depend on them, too. */
async function readLabels(
  { api, labelsOf, onGap }: FreshReading,
  instance: DeclaredInstance,
  referring: ReferringObjects,
): Promise<Fresh<LabelsOf>> {
  const isGuest = (kind: GuestKind, object: ClusterObject): boolean =>
    object.metadata.namespace !== instance.meta.namespace &&
    refusalOf(instance, () => undefined, kind, object) === undefined;
  const hasGuests = guestKinds.some((kind) => referring[kind].some((object) => isGuest(kind, object)));
  if (!hasGuests || (onGap === undefined && !dependsOnLabels(instance))) return { ok: true, value: labelsOf };
  const read = await listObjects<KubeObject>(api, namespaceType, { timeoutMs: listTimeoutMs, metadataOnly: true });
  if (read.ok) {
    const labels = new Map(read.value.items.map(({ metadata }) => [metadata.name, metadata.labels ?? {}]));
    return { ok: true, value: (name) => labels.get(name) };
  }
  if (onGap === undefined) return failedRead("The namespaces", read.fault);
  onGap("You are not allowed to list namespaces, whose labels determine which objects are attached.");
  return { ok: true, value: labelsOf };
}

/**
 * A kind whose CRD is being deleted; undefined if there is none. Its objects disappear one after another, although lists still
 * succeed, and users did not delete the objects that are missing from such a list. During this time, the API server does not offer
 * the verb `create` for the kind. Never rejects.
 */
export async function findTerminatingCrd(api: ApiServer): Promise<Fresh<ResourceKind | undefined>> {
  const path = `/apis/${apiGroup}/${apiVersionName}`;
  const read = await api.request<unknown>({ method: "GET", path, timeoutMs: requestTimeoutMs });
  if (!read.ok && read.fault.code === "Forbidden") return { ok: true, value: undefined };
  if (!read.ok) return failedRead(`The kinds of ${apiGroup}`, read.fault);
  const resources = isRecord(read.value) && Array.isArray(read.value["resources"]) ? read.value["resources"] : [];
  const terminating = (["WafInstance", ...entryKinds] as const).find((kind) => {
    const resource = resources.find((item) => isRecord(item) && item["name"] === typeOfKind(kind).plural) as unknown;
    return !isRecord(resource) || !Array.isArray(resource["verbs"]) || !resource["verbs"].includes("create");
  });
  return { ok: true, value: terminating };
}

function failedRead(subject: string, fault: ApiFault): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem: `${subject} could not be reread: ${fault.message}` };
}
