// Reads the objects of an instance from the API server instead of the caches: one consistent read per kind, of the namespaces
// with access. This precedes all removals, so that neither a stale cache nor a CRD that is being deleted can unblock anyone.
import { apiGroup, apiVersionName, kinds } from "../../api/kinds.ts";
import type { ApiResult } from "../../kube/api-result.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import { isRecord } from "../../kube/kube-object.ts";
import { getObject, type ReadListOptions, listObjects } from "../../kube/verbs.ts";
import { mapConcurrently } from "../../async/map-concurrently.ts";
import type { DeclaredInstance, GuestKind } from "../../model/declared.ts";
import { nameKey, type ObjectName, type ResourceKind } from "../../model/resource.ts";
import { AttachedNamespaces, type LabelsOf } from "./attached-namespaces.ts";
import { type ClusterObject, instanceNameOf, slimObject, typeOfKind } from "./cluster-object.ts";
import type { ClusterStores } from "./cluster-watches.ts";
import { type ConfirmScope, labelsFor, scopeOf } from "./confirm-scope.ts";
import { type Confirmed, failedRead } from "./confirmed.ts";
import type { InstanceObjects } from "./gather-instance.ts";
import { parseObject } from "./parse-object.ts";

const requestTimeoutMs = 10_000;
const listTimeoutMs = 30_000;
/** The maximum size of a page: several times that of an object, and parsed in well below 100 ms. */
const pageBytesMax = 16 * 1024 * 1024;
const listsAtOnceMax = 4;
/** The common version of several lists may be compacted during the reads. */
const attemptsMax = 3;

export interface ConfirmContext {
  readonly api: ApiServer;
  /** All namespaces if undefined. */
  readonly namespace: string | undefined;
  readonly stores: ClusterStores;
  /** Called when the CRD of a kind is being deleted. */
  readonly onCrdTerminating: (kind: ResourceKind) => void;
}

export interface ConfirmedInstance extends Omit<InstanceObjects, "unreadable"> {
  /** The current labels of the namespaces on which its access depends. */
  readonly labelsOf: LabelsOf;
}

/** The current objects of the instance; undefined if the instance no longer exists. Never rejects. */
export async function readInstance(
  context: ConfirmContext,
  name: ObjectName,
): Promise<Confirmed<ConfirmedInstance | undefined>> {
  const [served, read] = await Promise.all([checkKinds(context), readInstanceObject(context, name)]);
  if (!served.ok) return served;
  if (!read.ok) return read;
  if (read.value === undefined) return { ok: true, value: undefined };
  const parsed = parseObject("WafInstance", read.value);
  if (!parsed.ok) return { ok: false, problem: `WafInstance ${nameKey(name)} is invalid: ${parsed.problem}` };
  const instance = parsed.declared;
  const scope = await scopeOf(context, instance);
  if (!scope.ok) return scope;
  const known = await labelsFor(context, instance, new Set(scope.value.namespaces ?? []), scope.value.labels);
  if (!known.ok) return known;
  const reading: Reading = { context, instance, scope: scope.value, labelsOf: known.value };
  const [rules, origins, cacheClears, autoBlocks] = await Promise.all([
    listAttached(reading, "WafIpRule"),
    listAttached(reading, "WafOrigin"),
    listAttached(reading, "WafCacheClear"),
    listAttached(reading, "WafAutoBlock"),
  ]);
  if (!rules.ok) return rules;
  if (!origins.ok) return origins;
  if (!cacheClears.ok) return cacheClears;
  if (!autoBlocks.ok) return autoBlocks;
  const objects = [...rules.value, ...origins.value, ...cacheClears.value, ...autoBlocks.value];
  const namespaces = new Set(objects.map(({ metadata }) => metadata.namespace ?? ""));
  const labels = await labelsFor(context, instance, namespaces, scope.value.labels);
  if (!labels.ok) return labels;
  const listed = { rules: rules.value, origins: origins.value, cacheClears: cacheClears.value };
  const value = { instance, ...listed, autoBlocks: autoBlocks.value, labelsOf: labels.value };
  return { ok: true, value };
}

/**
 * While a CRD is being deleted, its objects disappear one after another, although lists still succeed. During this time, the API
 * server does not offer the verb `create` for the kind. Users did not delete the objects that are missing from such a list.
 */
async function checkKinds(context: ConfirmContext): Promise<Confirmed<undefined>> {
  const terminating = await findTerminatingCrd(context);
  if (!terminating.ok) return terminating;
  if (terminating.value === undefined) return { ok: true, value: undefined };
  context.onCrdTerminating(terminating.value);
  return {
    ok: false,
    problem: `The CRD of ${terminating.value} is being deleted, and all its objects with it.`,
  };
}

/** A kind whose CRD is being deleted together with all its objects; undefined if there is none. Never rejects. */
export async function findTerminatingCrd({
  api,
}: Pick<ConfirmContext, "api">): Promise<Confirmed<ResourceKind | undefined>> {
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

async function readInstanceObject(
  { api, stores }: ConfirmContext,
  name: ObjectName,
): Promise<Confirmed<ClusterObject | undefined>> {
  const subject = `WafInstance ${nameKey(name)}`;
  const options = { timeoutMs: requestTimeoutMs };
  const read = await getObject<ClusterObject>(api, typeOfKind("WafInstance"), name, options);
  if (!read.ok)
    return read.fault.code === "NotFound" ? { ok: true, value: undefined } : failedRead(subject, read.fault);
  const stored = stores.byKind.WafInstance.get(nameKey(name));
  if (stored !== undefined && stored.metadata.uid !== read.value.metadata.uid) {
    return { ok: false, problem: `${subject} has been deleted and created again.` };
  }
  return { ok: true, value: known("WafInstance", read.value, stored) };
}

interface Reading {
  readonly context: ConfirmContext;
  readonly instance: DeclaredInstance;
  readonly scope: ConfirmScope;
  readonly labelsOf: LabelsOf;
}

/** The objects of a kind that refer to the instance, in the namespaces with access: a consistent snapshot. */
async function listAttached(reading: Reading, kind: GuestKind): Promise<Confirmed<readonly ClusterObject[]>> {
  let listed = await listNamespaces(reading, kind);
  for (let attempt = 1; attempt < attemptsMax && !listed.ok && listed.fault.code === "Gone"; attempt += 1) {
    listed = await listNamespaces(reading, kind);
  }
  if (!listed.ok) return failedRead(`The ${kinds[kind].plural} of ${nameKey(reading.instance.meta)}`, listed.fault);
  return { ok: true, value: listed.value };
}

async function listNamespaces(reading: Reading, kind: GuestKind): Promise<ApiResult<readonly ClusterObject[]>> {
  const { instance, scope, labelsOf } = reading;
  const attached = new AttachedNamespaces(instance, labelsOf);
  const [own, ...others] = scope.namespaces?.filter((namespace) => attached.mayAttach(kind, namespace)) ?? [undefined];
  const first = await listIn(reading, kind, own === undefined ? {} : { namespace: own });
  if (!first.ok) return first;
  const { items, resourceVersion } = first.value;
  const objects = [...items];
  let failure: ApiResult<never> | undefined;
  await mapConcurrently(others, listsAtOnceMax, async (namespace) => {
    if (failure !== undefined || namespace === undefined) return;
    const listed = await listIn(reading, kind, { namespace, exactVersion: resourceVersion });
    if (!listed.ok) failure = listed;
    else for (const object of listed.value.items) objects.push(object);
  });
  return failure ?? { ok: true, value: objects, status: first.status };
}

async function listIn(
  { context, instance }: Reading,
  kind: GuestKind,
  where: Pick<ReadListOptions<ClusterObject>, "namespace" | "exactVersion">,
) {
  const { api, stores } = context;
  const type = typeOfKind(kind);
  const stored = ({ metadata: { namespace = "", name } }: ClusterObject): ClusterObject | undefined =>
    stores.byKind[kind].get(nameKey({ namespace, name }));
  const options = {
    ...where,
    timeoutMs: listTimeoutMs,
    bodyBytesMax: pageBytesMax,
    slim: (object: ClusterObject) => known(kind, object, stored(object)),
  };
  const fieldSelector = `spec.instanceRef.name=${instance.meta.name}`;
  let listed = await listObjects<ClusterObject>(api, type, { ...options, fieldSelector });
  // CRDs of an older version may not declare this field as selectable.
  if (!listed.ok && listed.fault.code === "Invalid") listed = await listObjects<ClusterObject>(api, type, options);
  if (!listed.ok) return listed;
  const items = listed.value.items.filter((object) => {
    const of = instanceNameOf(object);
    return of !== undefined && nameKey(of) === nameKey(instance.meta);
  });
  return { ...listed, value: { ...listed.value, items } };
}

/** The stored object if it is the same version, so that it is not parsed again. */
function known(kind: ResourceKind, read: ClusterObject, stored: ClusterObject | undefined): ClusterObject {
  const isSame =
    stored?.metadata.uid === read.metadata.uid && stored.metadata.resourceVersion === read.metadata.resourceVersion;
  return isSame ? stored : slimObject(kind, read, stored);
}
