// Reads the objects of an instance once, with the permissions of the user, for commands. Inaccessible objects are omitted and
// listed, so the result shows what is missing.
import { type Condition, findCondition } from "../../kinds/conditions.ts";
import type { Clock } from "../../async/clock.ts";
import type { ApiFault, ApiServer } from "../../kube/api-server.ts";
import { createObjectStore, type ObjectStore } from "../../kube/store.ts";
import { getObject, listObjects } from "../../kube/verbs.ts";
import { type DeclaredFeed, feedSourceName, type DeclaredRule } from "../../model/declared.ts";
import {
  entryKinds,
  nameKey,
  type ObjectName,
  type ResourceKind,
  resourceKinds,
  type ResourceMeta,
  type ResourceRef,
} from "../../model/resource.ts";
import { ApiKeys } from "./api-keys.ts";
import { UnattachedObjects } from "./attachment.ts";
import { type ClusterObject, instanceNameOf, parseObject, setterOf, slimObject, typeOfKind } from "./cluster-object.ts";
import { createKindStore } from "./cluster-watches.ts";
import { DataTexts } from "./data-texts.ts";
import { hasGuests, listTimeoutMs, readLabels, requestTimeoutMs } from "./fresh-objects.ts";
import { gatherObjects } from "./references.ts";

type Status = Readonly<Record<string, unknown>>;
/** A rule that no run covers, and why. */
interface UnattachedRule {
  readonly rule: DeclaredRule;
  readonly message: string;
}

/** With the managed fields, which say who changed an object. */
function slim(kind: ResourceKind, object: ClusterObject): ClusterObject {
  return { ...slimObject(kind, object, undefined), metadata: object.metadata };
}

/** The objects of the instance, gathered as the operator does. `problem` is the reason if there is no result. */
export async function readInstanceOnce(api: ApiServer, clock: Clock, name: ObjectName) {
  const failed = (problem: string) => ({ ok: false, problem }) as const;
  const options = { timeoutMs: requestTimeoutMs };
  const found = await getObject<ClusterObject>(api, typeOfKind("WafInstance"), name, options);
  if (!found.ok) return failed(unreadInstance(name, found.fault));
  const own = slim("WafInstance", found.value);
  const parsed = parseObject<"WafInstance">(own);
  if (!parsed.ok) return failed(`WafInstance ${nameKey(name)} is invalid: ${parsed.problem}`);
  const instance = parsed.declared;
  const gaps: string[] = [];
  const stores = await readStores(api, own, (gap) => void gaps.push(gap));
  const referring = entryKinds.flatMap((kind) => stores[kind].listBy("instance", nameKey(name)));
  // Feeds may depend on the labels of namespaces, too.
  const labels = hasGuests(instance, referring) ? await readLabels(api) : undefined;
  const labelsOf = labels?.ok === true ? labels.value : () => undefined;
  if (labels?.ok === false)
    gaps.push("You are not allowed to list namespaces, whose labels determine which objects are attached.");
  const texts = new DataTexts({ api, clock, watched: createObjectStore() });
  const reader = {
    clock,
    keys: new ApiKeys({ texts, onKey: () => undefined }),
    texts,
    changes: { sharing: () => [], touch: () => undefined, unreadRivals: () => [] },
  };
  const others = new UnattachedObjects(stores, labelsOf, undefined);
  const known = { brokenSources: [], brokenReferences: others.brokenReferences(instance) };
  const { gathered, problems } = await gatherObjects({ instance, referring, labelsOf }, reader, true, known);
  const read = {
    gathered: { ...gathered, brokenSources: [] },
    unattached: unattachedRules(others, stores, name),
    // What the user can't read is no fault of the declared state.
    gaps: [...gaps, ...(gathered.invalidObjects?.values() ?? []), ...problems],
    statusOf: (object: ResourceRef) => stores[object.kind].get(nameKey(object))?.status as Status | undefined,
    setterOf: (meta: ResourceMeta) => setterOf(stores[meta.kind].get(nameKey(meta))?.metadata.managedFields, "spec"),
  };
  return { ok: true, read } as const;
}

/** A feed that rules use; undefined if it does not exist. `problem` is the reason if unknown. */
export async function readFeed(
  api: ApiServer,
  name: ObjectName,
): Promise<{ readonly feed: DeclaredFeed | undefined } | { readonly problem: string }> {
  const read = await getObject<ClusterObject>(api, typeOfKind("WafFeed"), name, { timeoutMs: requestTimeoutMs });
  if (!read.ok && read.fault.code === "NotFound") return { feed: undefined };
  if (!read.ok) return { problem: `${feedSourceName(name)} cannot be read: ${read.fault.message}` };
  const parsed = parseObject<"WafFeed">(slim("WafFeed", read.value));
  return parsed.ok ? { feed: parsed.declared } : { problem: `${feedSourceName(name)} is invalid: ${parsed.problem}` };
}

type KindStores = Readonly<Record<ResourceKind, ObjectStore<ClusterObject>>>;

/**
 * The instance, the others, and the objects that declare entries, whatever they refer to, for a reference may be wrong. An object is left
 * out if its instance can't be read, unless the operator reported on it that there is none.
 */
async function readStores(api: ApiServer, own: ClusterObject, onGap: (gap: string) => void): Promise<KindStores> {
  const stores = Object.fromEntries(resourceKinds.map((kind) => [kind, createKindStore()])) as KindStores;
  const { namespace = "" } = own.metadata;
  const [instances, ...lists] = await Promise.all([
    listForUser(api, "WafInstance", namespace, () => undefined),
    ...entryKinds.map(async (kind) => await listForUser(api, kind, namespace, onGap)),
  ]);
  for (const object of [...instances.objects, own]) stores.WafInstance.put(slim("WafInstance", object));
  for (const object of lists.flatMap(({ objects }) => objects)) {
    const name = instanceNameOf(object);
    const isKnown = name === undefined || instances.covers(name.namespace) || stores.WafInstance.get(nameKey(name));
    if (isKnown || isReportedLost(object)) stores[object.kind].put(slim(object.kind, object));
  }
  return stores;
}

/**
 * The objects of a kind that the user may list: those of all namespaces, or of this one. Never rejects.
 * @param onGap called with what is missing, in a sentence
 * @param isEverywhere false if those of this namespace are enough
 */
export async function listForUser(
  api: ApiServer,
  kind: ResourceKind,
  namespace: string | undefined,
  onGap: (gap: string) => void,
  isEverywhere = true,
): Promise<{ readonly objects: readonly ClusterObject[]; readonly covers: (namespace: string) => boolean }> {
  const type = typeOfKind(kind);
  const { plural } = type;
  const list = async (within: string | undefined) =>
    await listObjects<ClusterObject>(api, type, { namespace: within, timeoutMs: listTimeoutMs });
  let scope = isEverywhere ? undefined : namespace;
  let listed = await list(scope);
  if (!listed.ok && listed.fault.code === "Forbidden" && scope !== namespace) {
    scope = namespace;
    listed = await list(scope);
    if (listed.ok)
      onGap(
        `You are not allowed to list ${plural} in all namespaces: only those in namespace ${scope} are considered.`,
      );
  }
  if (listed.ok) return { objects: listed.value.items, covers: (one) => scope === undefined || one === scope };
  const { code, message } = listed.fault;
  const forbidden = `You are not allowed to list ${plural} ${whereOf(scope)}: ask for this permission.`;
  onGap(code === "Forbidden" ? forbidden : `The ${plural} cannot be listed: ${message}`);
  return { objects: [], covers: () => false };
}

/** `in namespace shop`. */
export function whereOf(namespace: string | undefined): string {
  return namespace === undefined ? "in all namespaces" : `in namespace ${namespace}`;
}

function isReportedLost({ status }: ClusterObject): boolean {
  const { conditions = [] } = (status ?? {}) as { readonly conditions?: readonly Condition[] };
  return findCondition(conditions, "Ready")?.reason === "InstanceNotFound";
}

/** The rules without access to the instance, and those of its namespace whose instance does not exist. */
function unattachedRules(others: UnattachedObjects, stores: KindStores, name: ObjectName): UnattachedRule[] {
  return stores.WafIpRule.list().flatMap((object) => {
    const { reason, instance, problem: message } = others.find(object) ?? {};
    const isMeant =
      reason === "InstanceNotFound"
        ? object.metadata.namespace === name.namespace
        : reason === "NotAllowed" && instance !== undefined && nameKey(instance) === nameKey(name);
    const parsed = parseObject<"WafIpRule">(object);
    return isMeant && message !== undefined && parsed.ok ? [{ rule: parsed.declared, message }] : [];
  });
}

function unreadInstance(name: ObjectName, fault: ApiFault): string {
  if (fault.code === "NotFound") return `there is no WafInstance ${nameKey(name)}`;
  if (fault.code === "Forbidden")
    return `you are not allowed to get wafinstances in namespace ${name.namespace}: ask for this permission`;
  return `WafInstance ${nameKey(name)} cannot be read: ${fault.message}`;
}
