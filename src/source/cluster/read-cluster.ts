// Reads the objects of an instance once, with the permissions of the user, for commands. Inaccessible objects are omitted and
// listed, so the result shows what is missing.
import { type Condition, findCondition } from "../../kinds/conditions.ts";
import type { Clock } from "../../async/clock.ts";
import type { ApiFault, ApiResult } from "../../kube/api-result.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import type { KubeObject } from "../../kube/kube-object.ts";
import { createObjectStore } from "../../kube/store.ts";
import { getObject, listObjects } from "../../kube/verbs.ts";
import { type DeclaredFeed, feedSourceName } from "../../model/declared-feed.ts";
import type { DeclaredInstance, DeclaredRule } from "../../model/declared.ts";
import type { Gathered } from "../../model/gathered.ts";
import {
  type FieldSetter,
  nameKey,
  type ObjectName,
  resourceKey,
  type ResourceKind,
  type ResourceMeta,
  type ResourceRef,
  type GuestKind,
  guestKinds,
} from "../../model/resource.ts";
import { byGuestKind, gather, type Labels, type LabelsOf } from "../gather.ts";
import { ApiKeys } from "./api-keys.ts";
import { attachedOf, type Attachments, attachmentsOf, refusalOf } from "./attachment.ts";
import {
  attachedObjects,
  type ClusterObject,
  namespaceType,
  parseObject,
  setterOfSpec,
  slimObject,
  typeOfKind,
} from "./cluster-object.ts";
import { ConfigMaps } from "./config-maps.ts";
import { granted, InstanceReferences, listReferring, type ReferringObjects } from "./instance-gathering.ts";

const requestTimeoutMs = 10_000;
const listTimeoutMs = 30_000;

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

/** All objects of the instance, as the operator gathers them. `problem` is the reason if there is no result. */
export async function readInstanceOnce(
  api: ApiServer,
  clock: Clock,
  name: ObjectName,
): Promise<{ readonly ok: true; readonly read: ReadObjects } | { readonly ok: false; readonly problem: string }> {
  const options = { timeoutMs: requestTimeoutMs };
  const found = await getObject<ClusterObject>(api, typeOfKind("WafInstance"), name, options);
  if (!found.ok) return { ok: false, problem: unreadInstance(name, found.fault) };
  const reader = new Reader(api);
  const parsed = parseObject("WafInstance", reader.keep("WafInstance", found.value));
  if (!parsed.ok) return { ok: false, problem: `WafInstance ${nameKey(name)} is invalid: ${parsed.problem}` };
  const instance = parsed.declared;
  const referring = await reader.referring(name);
  const labelsOf = await reader.labels(instance, referring);
  const attachments = attachmentsOf(instance, labelsOf);
  const references = new InstanceReferences({
    clock,
    keys: new ApiKeys({ api, clock, onKey: () => undefined }),
    maps: new ConfigMaps({ api, watched: createObjectStore() }),
    changes: { sharing: () => [], touch: () => undefined, unreadRivals: () => [] },
  });
  const { brokenSources, ...gathered } = await gather({
    instance,
    attached: attachedObjects(byGuestKind((kind) => attachedOf(attachments, kind, referring[kind]))),
    labelsOf,
    references: async (rules) => await references.read(instance, granted(rules, attachments), true),
    gaps: [],
  });
  const unattached = [...refusedRules(attachments, referring.WafIpRule), ...(await reader.unattached(name))];
  const { gaps, statusOf, setterOf } = reader;
  // What the user can't read is no fault of the declared state.
  const unread = [...gaps, ...(gathered.invalidObjects?.values() ?? []), ...brokenSources];
  const read = { gathered: { ...gathered, brokenSources: [] }, unattached, gaps: unread, statusOf, setterOf };
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

/** Reads with the permissions of the user, and notes what it could not read. */
class Reader {
  readonly gaps = new Set<string>();
  readonly #api: ApiServer;
  readonly #objects = new Map<string, ClusterObject>();

  constructor(api: ApiServer) {
    this.#api = api;
  }

  readonly statusOf = (object: ResourceRef): Readonly<Record<string, unknown>> | undefined =>
    this.#objects.get(resourceKey(object))?.status as Readonly<Record<string, unknown>> | undefined;

  readonly setterOf = (meta: ResourceMeta): FieldSetter | undefined =>
    setterOfSpec(this.#objects.get(resourceKey(meta))?.metadata.managedFields);

  keep(kind: ResourceKind, object: ClusterObject): ClusterObject {
    const { namespace = "", name } = object.metadata;
    this.#objects.set(resourceKey({ kind, namespace, name }), object);
    return slimObject(kind, object, undefined);
  }

  /** Without cache clears, which no command shows. */
  async referring(instance: ObjectName): Promise<ReferringObjects> {
    const list = async (kind: GuestKind) => (await this.#list(kind, instance)).map((object) => this.keep(kind, object));
    const [WafIpRule, WafOrigin, WafAutoBlock] = [
      await list("WafIpRule"),
      await list("WafOrigin"),
      await list("WafAutoBlock"),
    ];
    return { WafIpRule, WafOrigin, WafAutoBlock, WafCacheClear: [] };
  }

  /** In all namespaces or, without permission, in the namespace of the instance. */
  async #list(kind: GuestKind, instance: ObjectName): Promise<readonly ClusterObject[]> {
    const { plural } = typeOfKind(kind);
    let listed = await listReferring(this.#api, kind, instance, { scope: undefined });
    if (!listed.ok && listed.fault.code === "Forbidden") {
      this.gaps.add(
        `You are not allowed to list ${plural} in all namespaces: objects in other namespaces are not considered.`,
      );
      listed = await listReferring(this.#api, kind, instance, { scope: instance.namespace });
    }
    if (listed.ok) return listed.value;
    this.gaps.add(unlisted(plural, instance.namespace, listed.fault));
    return [];
  }

  /** The rules of the instance's namespace that refer to another instance, which does not exist. */
  async unattached(instance: ObjectName): Promise<ReadObjects["unattached"]> {
    const listed = await listObjects<ClusterObject>(this.#api, typeOfKind("WafIpRule"), {
      namespace: instance.namespace,
      fieldSelector: `spec.instanceRef.name!=${instance.name}`,
      timeoutMs: listTimeoutMs,
    });
    // If this is not allowed, a gap already says so.
    return (listed.ok ? listed.value.items : []).flatMap((object) => {
      const status = object.status as { readonly conditions?: readonly Condition[] } | undefined;
      const ready = findCondition(status?.conditions ?? [], "Ready");
      if (ready?.reason !== "InstanceNotFound") return [];
      const parsed = parseObject("WafIpRule", this.keep("WafIpRule", object));
      return parsed.ok ? [{ rule: parsed.declared, message: ready.message }] : [];
    });
  }

  /** The labels of the guests that may have access. */
  async labels(instance: DeclaredInstance, referring: ReferringObjects): Promise<LabelsOf> {
    const unknown = attachmentsOf(instance, () => undefined);
    const objects = guestKinds.flatMap((kind) => attachedOf(unknown, kind, referring[kind]));
    const guests = new Set(objects.map(({ metadata }) => metadata.namespace ?? ""));
    guests.delete(instance.meta.namespace);
    const labels = new Map<string, Labels>();
    for (const name of guests) {
      const options = { timeoutMs: requestTimeoutMs };
      const read = await getObject<KubeObject>(this.#api, namespaceType, { name }, options);
      if (read.ok) labels.set(name, read.value.metadata.labels ?? {});
      else if (read.fault.code === "Forbidden") {
        this.gaps.add(
          `You are not allowed to get namespace ${name}, whose labels determine whether its rules are attached.`,
        );
      }
    }
    return (namespace) => labels.get(namespace);
  }
}

/** The rules without access to the instance. */
function refusedRules(attachments: Attachments, rules: readonly ClusterObject[]): ReadObjects["unattached"] {
  return rules.flatMap((object) => {
    const refusal = refusalOf(attachments("WafIpRule", object.metadata.namespace ?? ""));
    const parsed = parseObject("WafIpRule", object);
    return refusal === undefined || !parsed.ok ? [] : [{ rule: parsed.declared, message: refusal.message }];
  });
}

function unreadInstance(name: ObjectName, fault: ApiFault): string {
  if (fault.code === "NotFound") return `there is no WafInstance ${nameKey(name)}`;
  if (fault.code === "Forbidden")
    return `you are not allowed to get wafinstances in namespace ${name.namespace}: ask for this permission`;
  return `WafInstance ${nameKey(name)} cannot be read: ${fault.message}`;
}

function unlisted(plural: string, namespace: string, fault: ApiFault): string {
  if (fault.code === "Forbidden")
    return `You are not allowed to list ${plural} in namespace ${namespace}: ask for this permission.`;
  return `The ${plural} cannot be read: ${fault.message}`;
}
