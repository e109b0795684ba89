// Reads the objects of an instance once, with the permissions of the user, for commands. Inaccessible objects are omitted and
// listed, so the result shows what is missing.
import { type Condition, findCondition } from "../../kinds/conditions.ts";
import type { Clock } from "../../async/clock.ts";
import type { ApiFault, ApiResult } from "../../kube/api-result.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import { createObjectStore } from "../../kube/store.ts";
import { getObject, listObjects } from "../../kube/verbs.ts";
import { type DeclaredFeed, feedSourceName } from "../../model/declared-feed.ts";
import type { DeclaredRule } from "../../model/declared.ts";
import type { Gathered } from "../../model/gathered.ts";
import {
  entryKinds,
  type FieldSetter,
  nameKey,
  type ObjectName,
  resourceKey,
  type ResourceKind,
  type ResourceMeta,
  type ResourceRef,
} from "../../model/resource.ts";
import { gather } from "../gather.ts";
import { ApiKeys } from "./api-keys.ts";
import { refusalOf } from "./attachment.ts";
import { type ClusterObject, parseObject, setterOfSpec, slimObject, typeOfKind } from "./cluster-object.ts";
import { DataTexts } from "./data-texts.ts";
import {
  type FreshReading,
  type InstanceObjects,
  listTimeoutMs,
  readObjects,
  requestTimeoutMs,
} from "./fresh-objects.ts";
import { objectSet } from "./references.ts";

export interface ReadObjects {
  readonly gathered: Gathered;
  /** Rules without access to the instance, and those in its namespace whose instance does not exist. */
  readonly unattached: readonly { readonly rule: DeclaredRule; readonly message: string }[];
  /** What could not be read, one sentence each. */
  readonly gaps: readonly string[];
  /** The status as it is stored. */
  readonly statusOf: (object: ResourceRef) => Readonly<Record<string, unknown>> | undefined;
  /** Who last changed the spec. */
  readonly setterOf: (meta: ResourceMeta) => FieldSetter | undefined;
}

/** The instances of one namespace, or of all namespaces, ordered by name. */
export async function listInstances(api: ApiServer, namespace: string | undefined): Promise<ApiResult<ObjectName[]>> {
  const scope = namespace === undefined ? {} : { namespace };
  const listed = await listObjects(api, typeOfKind("WafInstance"), { ...scope, timeoutMs: listTimeoutMs });
  if (!listed.ok) return listed;
  const names = listed.value.items.map(({ metadata: { namespace: home = "", name } }) => ({ namespace: home, name }));
  return { ...listed, value: names.toSorted((a, b) => (nameKey(a) < nameKey(b) ? -1 : 1)) };
}

/** The objects of the instance, gathered as the operator does. `problem` is the reason if there is no result. */
export async function readInstanceOnce(
  api: ApiServer,
  clock: Clock,
  name: ObjectName,
): Promise<{ readonly ok: true; readonly read: ReadObjects } | { readonly ok: false; readonly problem: string }> {
  const objects = new Map<string, ClusterObject>();
  const slim = (kind: ResourceKind, object: ClusterObject): ClusterObject => {
    const { namespace = "", name: own } = object.metadata;
    objects.set(resourceKey({ kind, namespace, name: own }), object);
    return slimObject(kind, object, undefined);
  };
  const options = { timeoutMs: requestTimeoutMs };
  const found = await getObject<ClusterObject>(api, typeOfKind("WafInstance"), name, options);
  if (!found.ok) return { ok: false, problem: unreadInstance(name, found.fault) };
  const parsed = parseObject("WafInstance", slim("WafInstance", found.value));
  if (!parsed.ok) return { ok: false, problem: `WafInstance ${nameKey(name)} is invalid: ${parsed.problem}` };
  const gaps = new Set<string>();
  const fresh = await readObjects(
    {
      api,
      // No command shows cache clears.
      kinds: entryKinds,
      scope: undefined,
      labelsOf: () => undefined,
      slim,
      onGap: (gap) => void gaps.add(gap),
    },
    parsed.declared,
  );
  if (!fresh.ok) return fresh;
  const texts = new DataTexts({ api, clock, watched: createObjectStore() });
  const reader = {
    clock,
    keys: new ApiKeys({ texts, onKey: () => undefined }),
    texts,
    changes: { sharing: () => [], touch: () => undefined, unreadRivals: () => [] },
  };
  const set = await objectSet(fresh.value, reader, true);
  const { brokenSources, ...gathered } = await gather({ ...set, gaps: [] });
  const read = {
    gathered: { ...gathered, brokenSources: [] },
    unattached: [...refusedRules(fresh.value), ...(await rulesWithoutInstance(api, name, slim))],
    // What the user can't read is no fault of the declared state.
    gaps: [...gaps, ...(gathered.invalidObjects?.values() ?? []), ...brokenSources],
    statusOf: (object: ResourceRef) => objects.get(resourceKey(object))?.status as ReturnType<ReadObjects["statusOf"]>,
    setterOf: (meta: ResourceMeta) => setterOfSpec(objects.get(resourceKey(meta))?.metadata.managedFields),
  };
  return { ok: true, read };
}

/** A feed that rules use; undefined if it does not exist. `problem` is the reason if unknown. */
export async function readFeed(
  api: ApiServer,
  name: ObjectName,
): Promise<{ readonly feed: DeclaredFeed | undefined } | { readonly problem: string }> {
  const read = await getObject<ClusterObject>(api, typeOfKind("WafFeed"), name, { timeoutMs: requestTimeoutMs });
  if (!read.ok && read.fault.code === "NotFound") return { feed: undefined };
  if (!read.ok) return { problem: `${feedSourceName(name)} cannot be read: ${read.fault.message}` };
  const parsed = parseObject("WafFeed", slimObject("WafFeed", read.value, undefined));
  return parsed.ok ? { feed: parsed.declared } : { problem: `${feedSourceName(name)} is invalid: ${parsed.problem}` };
}

/** The rules of the instance's namespace that refer to another instance, which does not exist. */
async function rulesWithoutInstance(
  api: ApiServer,
  instance: ObjectName,
  slim: FreshReading["slim"],
): Promise<ReadObjects["unattached"]> {
  const listed = await listObjects<ClusterObject>(api, typeOfKind("WafIpRule"), {
    namespace: instance.namespace,
    fieldSelector: `spec.instanceRef.name!=${instance.name}`,
    timeoutMs: listTimeoutMs,
  });
  // If this is not allowed, a gap already says so.
  return (listed.ok ? listed.value.items : []).flatMap((object) => {
    const status = object.status as { readonly conditions?: readonly Condition[] } | undefined;
    const ready = findCondition(status?.conditions ?? [], "Ready");
    if (ready?.reason !== "InstanceNotFound") return [];
    const parsed = parseObject("WafIpRule", slim("WafIpRule", object));
    return parsed.ok ? [{ rule: parsed.declared, message: ready.message }] : [];
  });
}

/** The rules without access to the instance. */
function refusedRules({ instance, referring, labelsOf }: InstanceObjects): ReadObjects["unattached"] {
  return referring.WafIpRule.flatMap((object) => {
    const message = refusalOf(instance, labelsOf, "WafIpRule", object);
    const parsed = parseObject("WafIpRule", object);
    return message === undefined || !parsed.ok ? [] : [{ rule: parsed.declared, message }];
  });
}

function unreadInstance(name: ObjectName, fault: ApiFault): string {
  if (fault.code === "NotFound") return `there is no WafInstance ${nameKey(name)}`;
  if (fault.code === "Forbidden")
    return `you are not allowed to get wafinstances in namespace ${name.namespace}: ask for this permission`;
  return `WafInstance ${nameKey(name)} cannot be read: ${fault.message}`;
}
