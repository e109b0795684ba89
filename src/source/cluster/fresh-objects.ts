// Reads the objects of an instance from the API server instead of the caches: one consistent read per kind. This precedes all
// removals, so that neither a stale cache nor a CRD that is being deleted can unblock anyone.
import { apiGroup, apiVersionName, kinds } from "../../api/kinds.ts";
import type { ApiFault, ApiResult } from "../../kube/api-result.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import { isRecord, type KubeObject } from "../../kube/kube-object.ts";
import { getObject, listObjects } from "../../kube/verbs.ts";
import { dependsOnLabels } from "../../model/attachment.ts";
import { type DeclaredInstance, type GuestKind, guestKinds } from "../../model/declared.ts";
import { nameKey, type ObjectName, type ResourceKind } from "../../model/resource.ts";
import type { Labels, LabelsOf } from "../gather.ts";
import { watchedLabels } from "./attached-namespaces.ts";
import { type ClusterObject, instanceNameOf, namespaceType, slimObject, typeOfKind } from "./cluster-object.ts";
import type { ClusterStores, ClusterWatches } from "./cluster-watches.ts";
import { parseObject } from "./parse-object.ts";

const requestTimeoutMs = 10_000;
const listTimeoutMs = 30_000;
/** The maximum size of a page: several times that of an object, and parsed in well below 100 ms. */
const pageBytesMax = 16 * 1024 * 1024;

export type Fresh<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

/** All objects of each kind that refer to an instance, valid or not. */
export type ReferringObjects = Readonly<Record<GuestKind, readonly ClusterObject[]>>;

export interface FreshObjects {
  readonly instance: DeclaredInstance;
  readonly referring: ReferringObjects;
  readonly labelsOf: LabelsOf;
}

export interface FreshContext {
  readonly api: ApiServer;
  /** The only namespace of this operator; all namespaces if undefined. */
  readonly namespace: string | undefined;
  readonly watches: Pick<ClusterWatches, "stores" | "markCrdTerminating">;
}

/** The current objects of the instance; undefined if the instance no longer exists. Never rejects. */
export async function readFresh(context: FreshContext, name: ObjectName): Promise<Fresh<FreshObjects | undefined>> {
  const [served, instance] = await Promise.all([checkKinds(context), readInstance(context, name)]);
  if (!served.ok) return served;
  if (!instance.ok || instance.value === undefined) return instance as Fresh<undefined>;
  const { api, namespace, watches } = context;
  const { access, meta } = instance.value;
  // Without grants, only the instance's own namespace has access.
  const scope = namespace ?? (access.length === 0 ? meta.namespace : undefined);
  const list = async (kind: GuestKind) => ({
    kind,
    listed: await listReferring(api, kind, meta, { scope, stores: watches.stores }),
  });
  const [labels, lists] = await Promise.all([readLabels(context, instance.value), Promise.all(guestKinds.map(list))]);
  if (!labels.ok) return labels;
  const objects = new Map<GuestKind, readonly ClusterObject[]>();
  for (const { kind, listed } of lists) {
    if (!listed.ok) return failedRead(`The ${kinds[kind].plural} of ${nameKey(meta)}`, listed.fault);
    objects.set(kind, listed.value);
  }
  const referring = byGuestKind((kind) => objects.get(kind) ?? []);
  return { ok: true, value: { instance: instance.value, referring, labelsOf: labels.value } };
}

export function byGuestKind<T>(valueOf: (kind: GuestKind) => T): Readonly<Record<GuestKind, T>> {
  return Object.fromEntries(guestKinds.map((kind) => [kind, valueOf(kind)])) as Record<GuestKind, T>;
}

/**
 * The objects of a kind that refer to the instance, in one namespace or in all: a consistent snapshot. An object that is stored in
 * the same version is the stored one, so that it is not parsed again.
 */
export async function listReferring(
  api: ApiServer,
  kind: GuestKind,
  instance: ObjectName,
  { scope, stores }: { readonly scope: string | undefined; readonly stores?: Pick<ClusterStores, "byKind"> },
): Promise<ApiResult<readonly ClusterObject[]>> {
  const listed = await listObjects<ClusterObject>(api, typeOfKind(kind), {
    ...(scope === undefined ? {} : { namespace: scope }),
    fieldSelector: `spec.instanceRef.name=${instance.name}`,
    timeoutMs: listTimeoutMs,
    bodyBytesMax: pageBytesMax,
    ...(stores === undefined ? {} : { slim: (object) => slimmed(kind, object, stores) }),
  });
  if (!listed.ok) return listed;
  const items = listed.value.items.filter((object) => {
    const of = instanceNameOf(object);
    return of !== undefined && nameKey(of) === nameKey(instance);
  });
  return { ...listed, value: items };
}

/**
 * A kind whose CRD is being deleted; undefined if there is none. Its objects disappear one after another, although lists still
 * succeed, and users did not delete the objects that are missing from such a list. During this time, the API server does not offer
 * the verb `create` for the kind. Never rejects.
 */
export async function findTerminatingCrd({ api }: Pick<FreshContext, "api">): Promise<Fresh<ResourceKind | undefined>> {
  const path = `/apis/${apiGroup}/${apiVersionName}`;
  const read = await api.request<unknown>({ method: "GET", path, timeoutMs: requestTimeoutMs });
  if (!read.ok && read.fault.code === "Forbidden") return { ok: true, value: undefined };
  if (!read.ok) return failedRead(`The kinds of ${apiGroup}`, read.fault);
  const resources = isRecord(read.value) && Array.isArray(read.value["resources"]) ? read.value["resources"] : [];
  const terminating = (["WafInstance", "WafIpRule", "WafOrigin", "WafAutoBlock"] as const).find((kind) => {
    const resource = resources.find((item) => isRecord(item) && item["name"] === typeOfKind(kind).plural) as unknown;
    return !isRecord(resource) || !Array.isArray(resource["verbs"]) || !resource["verbs"].includes("create");
  });
  return { ok: true, value: terminating };
}

async function checkKinds(context: FreshContext): Promise<Fresh<undefined>> {
  const terminating = await findTerminatingCrd(context);
  if (!terminating.ok) return terminating;
  if (terminating.value === undefined) return { ok: true, value: undefined };
  context.watches.markCrdTerminating(terminating.value);
  return { ok: false, problem: `The CRD of ${terminating.value} is being deleted, and all its objects with it.` };
}

async function readInstance(
  { api, watches }: FreshContext,
  name: ObjectName,
): Promise<Fresh<DeclaredInstance | undefined>> {
  const subject = `WafInstance ${nameKey(name)}`;
  const options = { timeoutMs: requestTimeoutMs };
  const read = await getObject<ClusterObject>(api, typeOfKind("WafInstance"), name, options);
  if (!read.ok && read.fault.code === "NotFound") return { ok: true, value: undefined };
  if (!read.ok) return failedRead(subject, read.fault);
  const stored = watches.stores.byKind.WafInstance.get(nameKey(name));
  if (stored !== undefined && stored.metadata.uid !== read.value.metadata.uid) {
    return { ok: false, problem: `${subject} has been deleted and created again.` };
  }
  const parsed = parseObject("WafInstance", slimmed("WafInstance", read.value, watches.stores));
  if (!parsed.ok) return { ok: false, problem: `${subject} is invalid: ${parsed.problem}` };
  return { ok: true, value: parsed.declared };
}

/** The current labels of all namespaces if access depends on them; otherwise, those that the watch shows. */
async function readLabels(
  { api, namespace, watches }: FreshContext,
  instance: DeclaredInstance,
): Promise<Fresh<LabelsOf>> {
  if (namespace !== undefined || !dependsOnLabels(instance)) return { ok: true, value: watchedLabels(watches.stores) };
  const read = await listObjects<KubeObject>(api, namespaceType, { timeoutMs: listTimeoutMs, metadataOnly: true });
  if (!read.ok) return failedRead("The namespaces", read.fault);
  const labels = new Map<string, Labels>();
  for (const { metadata } of read.value.items) labels.set(metadata.name, metadata.labels ?? {});
  return { ok: true, value: (name) => labels.get(name) };
}

function slimmed(kind: ResourceKind, read: ClusterObject, { byKind }: Pick<ClusterStores, "byKind">): ClusterObject {
  const { namespace = "", name, uid, resourceVersion } = read.metadata;
  const stored = byKind[kind].get(nameKey({ namespace, name }));
  const isSame = stored?.metadata.uid === uid && stored.metadata.resourceVersion === resourceVersion;
  return isSame ? stored : slimObject(kind, read, stored);
}

function failedRead(subject: string, fault: ApiFault): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem: `${subject} could not be reread: ${fault.message}` };
}
