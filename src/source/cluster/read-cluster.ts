// Reads the objects of an instance once, with the permissions of the user, for commands. Inaccessible objects are omitted and
// listed, so the result shows what is missing.
import { type Condition, findCondition } from "../../kinds/conditions.ts";
import type { Clock } from "../../async/clock.ts";
import { mapConcurrently } from "../../async/map-concurrently.ts";
import type { ApiFault } from "../../kube/api-result.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import { objectKey } from "../../kube/kube-object.ts";
import { createObjectStore } from "../../kube/store.ts";
import { getObject } from "../../kube/verbs.ts";
import { type DeclaredFeed, feedSourceName } from "../../model/declared-feed.ts";
import type { DeclaredRule } from "../../model/declared.ts";
import {
  entryKinds,
  nameKey,
  nameOfKey,
  type ObjectName,
  type ResourceKind,
  type ResourceMeta,
  type ResourceRef,
} from "../../model/resource.ts";
import { ApiKeys } from "./api-keys.ts";
import { UnattachedObjects } from "./attachment.ts";
import { type ClusterObject, parseObject, setterOf, slimObject, typeOfKind } from "./cluster-object.ts";
import { unreadableInstance } from "./cluster-watches.ts";
import { DataTexts } from "./data-texts.ts";
import { type KindStores, readObjects, requestTimeoutMs } from "./fresh-objects.ts";
import { gatherObjects } from "./references.ts";

type Status = Readonly<Record<string, unknown>>;
/** A rule that no run covers, and why. */
interface UnattachedRule {
  readonly rule: DeclaredRule;
  readonly message: string;
}

const readsAtOnceMax = 8;

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
  const gaps = new Set<string>();
  const onGap = (gap: string): void => void gaps.add(gap);
  const reading = { api, namespace: undefined, labelsOf: () => undefined, slim, onGap };
  const fresh = await readObjects(reading, slim("WafInstance", found.value));
  if (!fresh.ok) return fresh;
  const texts = new DataTexts({ api, clock, watched: createObjectStore() });
  const reader = {
    clock,
    keys: new ApiKeys({ texts, onKey: () => undefined }),
    texts,
    changes: { sharing: () => [], touch: () => undefined, unreadRivals: () => [] },
  };
  const { instance, labelsOf, stores } = fresh.value;
  await addInstances(api, stores);
  const others = new UnattachedObjects(stores, labelsOf, undefined);
  const known = { brokenSources: [], brokenReferences: others.brokenReferences(instance) };
  const { gathered, problems } = await gatherObjects(fresh.value, reader, true, known);
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

/**
 * Adds the instances that objects refer to. If one can't be read, its objects are left out, unless the operator reported on them that
 * there is none.
 */
async function addInstances(api: ApiServer, stores: KindStores): Promise<void> {
  const names = new Set(entryKinds.flatMap((kind) => stores[kind].valuesOf("instance")));
  await mapConcurrently([...names], readsAtOnceMax, async (name) => {
    if (name === unreadableInstance || stores.WafInstance.get(name) !== undefined) return;
    const options = { timeoutMs: requestTimeoutMs };
    const read = await getObject<ClusterObject>(api, typeOfKind("WafInstance"), nameOfKey(name), options);
    if (read.ok) stores.WafInstance.put(slim("WafInstance", read.value));
    if (read.ok || read.fault.code === "NotFound") return;
    for (const kind of entryKinds) {
      const covered = stores[kind].listBy("instance", name).filter((object) => !isReportedLost(object));
      for (const { metadata } of covered) stores[kind].remove(objectKey(metadata));
    }
  });
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
