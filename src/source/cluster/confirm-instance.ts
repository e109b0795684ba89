// Reads what belongs to an instance from the API server instead of the caches, with one consistent list for each kind. This
// happens before anything is removed, so that neither a stale cache nor a CRD that is being deleted can unblock anyone.
import { apiGroup, apiVersionName, kinds } from "../../api/kinds.ts";
import type { ApiFault } from "../../kube/api-result.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import { isRecord, type KubeObject } from "../../kube/kube-object.ts";
import { getObject, type ListOptions, listObjects } from "../../kube/verbs.ts";
import { nameKey, type ObjectName, type ResourceKind } from "../../model/resource.ts";
import { type ClusterObject, instanceNameOf, namespaceType, slimObject, typeOfKind } from "./cluster-object.ts";
import type { ClusterStores } from "./cluster-watches.ts";
import type { InstanceObjects } from "./gather-instance.ts";
import { parseObject } from "./parse-object.ts";

const requestTimeoutMs = 10_000;
const listTimeoutMs = 30_000;

export type Confirmed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

export interface ConfirmContext {
  readonly api: ApiServer;
  /** All namespaces if undefined. */
  readonly namespace: string | undefined;
  readonly stores: ClusterStores;
  /** Called when the CRD of a kind is being deleted. */
  readonly onCrdTerminating: (kind: ResourceKind) => void;
}

/** The current objects of the instance; undefined if the instance no longer exists. Never rejects. */
export async function readInstance(
  context: ConfirmContext,
  name: ObjectName,
): Promise<Confirmed<Omit<InstanceObjects, "unreadable"> | undefined>> {
  const [served, instance, rules, origins, cacheClears] = await Promise.all([
    checkKinds(context),
    readInstanceObject(context, name),
    listAttached(context, "WafIpRule", name),
    listAttached(context, "WafOrigin", name),
    listAttached(context, "WafCacheClear", name),
  ]);
  if (!served.ok) return served;
  if (!instance.ok) return instance;
  if (!rules.ok) return rules;
  if (!origins.ok) return origins;
  if (!cacheClears.ok) return cacheClears;
  if (instance.value === undefined) return { ok: true, value: undefined };
  const parsed = parseObject("WafInstance", instance.value);
  if (!parsed.ok) return { ok: false, problem: `WafInstance ${nameKey(name)} is invalid: ${parsed.problem}` };
  const value = {
    instance: parsed.declared,
    rules: rules.value,
    origins: origins.value,
    cacheClears: cacheClears.value,
  };
  return { ok: true, value };
}

/** The current labels of the namespaces, without those that no longer exist. Never rejects. */
export async function readNamespaceLabels(
  { api, namespace: own }: ConfirmContext,
  namespaces: ReadonlySet<string>,
): Promise<Confirmed<Map<string, Readonly<Record<string, string>>>>> {
  const labels = new Map<string, Readonly<Record<string, string>>>();
  if (own !== undefined) return { ok: true, value: labels };
  const reads = await Promise.all(
    [...namespaces].map(async (name) => {
      const read = await getObject<KubeObject>(api, namespaceType, { name }, { timeoutMs: requestTimeoutMs });
      if (read.ok) labels.set(name, read.value.metadata.labels ?? {});
      return read.ok || read.fault.code === "NotFound" ? undefined : failed(`Namespace ${name}`, read.fault);
    }),
  );
  return reads.find((fault) => fault !== undefined) ?? { ok: true, value: labels };
}

/**
 * While a CRD is being deleted, its objects disappear one after another, although lists still succeed. The API server no
 * longer offers the verb `create` for the kind then. Users did not delete what is missing from such a list.
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

/** A kind whose CRD is being deleted, and all its objects with it; undefined if there is none. Never rejects. */
export async function findTerminatingCrd({
  api,
}: Pick<ConfirmContext, "api">): Promise<Confirmed<ResourceKind | undefined>> {
  const path = `/apis/${apiGroup}/${apiVersionName}`;
  const read = await api.request<unknown>({ method: "GET", path, timeoutMs: requestTimeoutMs });
  if (!read.ok && read.fault.code === "Forbidden") return { ok: true, value: undefined };
  if (!read.ok) return failed(`The kinds of ${apiGroup}`, read.fault);
  const resources = isRecord(read.value) && Array.isArray(read.value["resources"]) ? read.value["resources"] : [];
  const terminating = (["WafInstance", "WafIpRule", "WafOrigin"] as const).find((kind) => {
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
  if (!read.ok) return read.fault.code === "NotFound" ? { ok: true, value: undefined } : failed(subject, read.fault);
  const stored = stores.byKind.WafInstance.get(nameKey(name));
  if (stored !== undefined && stored.metadata.uid !== read.value.metadata.uid) {
    return { ok: false, problem: `${subject} has been deleted and created again.` };
  }
  return { ok: true, value: known("WafInstance", read.value, stored) };
}

async function listAttached(
  { api, namespace, stores }: ConfirmContext,
  kind: ResourceKind,
  instance: ObjectName,
): Promise<Confirmed<readonly ClusterObject[]>> {
  const type = typeOfKind(kind);
  const scope: ListOptions = { timeoutMs: listTimeoutMs, ...(namespace === undefined ? {} : { namespace }) };
  const fieldSelector = `spec.instanceRef.name=${instance.name}`;
  let listed = await listObjects<ClusterObject>(api, type, { ...scope, fieldSelector });
  // CRDs of an older version may not declare this field as selectable.
  if (!listed.ok && listed.fault.code === "Invalid") listed = await listObjects<ClusterObject>(api, type, scope);
  if (!listed.ok) return failed(`The ${kinds[kind].plural} of ${nameKey(instance)}`, listed.fault);
  const attached = listed.value.items.flatMap((object) => {
    const of = instanceNameOf(object);
    if (of === undefined || nameKey(of) !== nameKey(instance)) return [];
    const { namespace: home = "", name } = object.metadata;
    return [known(kind, object, stores.byKind[kind].get(nameKey({ namespace: home, name })))];
  });
  return { ok: true, value: attached };
}

/** The stored object if it is the same version, so that it is not parsed again. */
function known(kind: ResourceKind, read: ClusterObject, stored: ClusterObject | undefined): ClusterObject {
  const isSame =
    stored?.metadata.uid === read.metadata.uid && stored.metadata.resourceVersion === read.metadata.resourceVersion;
  return isSame ? stored : slimObject(kind, read, stored);
}

function failed(subject: string, fault: ApiFault): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem: `${subject} could not be read again: ${fault.message}` };
}
