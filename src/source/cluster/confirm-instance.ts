// Reads what belongs to an instance afresh from the API server, as one consistent picture of each kind: before anything is
// removed, so that a watch that lags behind, or a kind that is just being uninstalled, unblocks nobody.
import { apiGroup, apiVersionName, kinds } from "../../api/kinds.ts";
import type { ApiFault } from "../../kube/api-result.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import { isRecord, type KubeObject } from "../../kube/kube-object.ts";
import { getObject, type ListOptions, listObjects } from "../../kube/verbs.ts";
import { nameKey, type ObjectName, type ResourceKind } from "../../model/resource.ts";
import { type ClusterObject, instanceNameOf, namespaceType, slimObject, typeOfKind } from "./cluster-object.ts";
import type { ClusterStores } from "./cluster-watches.ts";
import type { InstancePicture } from "./gather-instance.ts";
import { parseObject } from "./parse-object.ts";

const requestTimeoutMs = 10_000;
const listTimeoutMs = 30_000;

export type Confirmed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

export interface ConfirmContext {
  readonly api: ApiServer;
  /** All namespaces if undefined. */
  readonly namespace: string | undefined;
  readonly stores: ClusterStores;
  /** A kind is being uninstalled. */
  readonly onLeaving: (kind: ResourceKind) => void;
}

/** The objects of the instance as they are now; undefined if there is no such instance any more. Never rejects. */
export async function readInstance(
  context: ConfirmContext,
  name: ObjectName,
): Promise<Confirmed<Omit<InstancePicture, "unreadable"> | undefined>> {
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
  if (!parsed.ok) return { ok: false, problem: `WafInstance ${nameKey(name)} cannot be understood: ${parsed.problem}` };
  const value = {
    instance: parsed.declared,
    rules: rules.value,
    origins: origins.value,
    cacheClears: cacheClears.value,
  };
  return { ok: true, value };
}

/** The labels of the namespaces as they are now. Those that are gone are left out. Never rejects. */
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
 * While a kind is being uninstalled its objects disappear one after another, and lists of it still succeed. The API server
 * then offers no `create` for it any more: what is missing was not taken back by those who declared it.
 */
async function checkKinds(context: ConfirmContext): Promise<Confirmed<undefined>> {
  const leaving = await findLeavingKind(context);
  if (!leaving.ok) return leaving;
  if (leaving.value === undefined) return { ok: true, value: undefined };
  context.onLeaving(leaving.value);
  return {
    ok: false,
    problem: `The kind ${leaving.value} is being removed from the API server, and its objects with it.`,
  };
}

/** A kind whose objects are on their way out, whoever declared them; undefined if there is none. Never rejects. */
export async function findLeavingKind({
  api,
}: Pick<ConfirmContext, "api">): Promise<Confirmed<ResourceKind | undefined>> {
  const path = `/apis/${apiGroup}/${apiVersionName}`;
  const read = await api.request<unknown>({ method: "GET", path, timeoutMs: requestTimeoutMs });
  if (!read.ok && read.fault.code === "Forbidden") return { ok: true, value: undefined };
  if (!read.ok) return failed(`The kinds of ${apiGroup}`, read.fault);
  const resources = isRecord(read.value) && Array.isArray(read.value["resources"]) ? read.value["resources"] : [];
  const leaving = (["WafInstance", "WafIpRule", "WafOrigin"] as const).find((kind) => {
    const resource = resources.find((item) => isRecord(item) && item["name"] === typeOfKind(kind).plural) as unknown;
    return !isRecord(resource) || !Array.isArray(resource["verbs"]) || !resource["verbs"].includes("create");
  });
  return { ok: true, value: leaving };
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
  // Definitions of an older version may not offer the field.
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

/** The stored object where it is the same version, so that nobody parses it again. */
function known(kind: ResourceKind, read: ClusterObject, stored: ClusterObject | undefined): ClusterObject {
  const isSame =
    stored?.metadata.uid === read.metadata.uid && stored.metadata.resourceVersion === read.metadata.resourceVersion;
  return isSame ? stored : slimObject(kind, read, stored);
}

function failed(subject: string, fault: ApiFault): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem: `${subject} could not be read again: ${fault.message}` };
}
