// Reads the objects of an instance once, with the permissions of the user, for commands. Inaccessible objects are omitted and
// listed, so the result shows what is missing.
import { feedSourceName } from "../../model/feed.ts";
import type { Condition } from "../../api/conditions.ts";
import { findCondition } from "../../api/conditions.ts";
import type { Clock } from "../../async/clock.ts";
import type { ApiFault, ApiResult } from "../../kube/api-result.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import type { KubeObject } from "../../kube/kube-object.ts";
import { createObjectStore } from "../../kube/store.ts";
import { getObject, listObjects } from "../../kube/verbs.ts";
import type { DeclaredRule } from "../../model/declared.ts";
import type { DeclaredFeed } from "../../model/declared-feed.ts";
import type { AddressText, Gathered, GatheredRule } from "../../model/gathered.ts";
import type { FieldSetter, ObjectName, ResourceKind, ResourceMeta, ResourceRef } from "../../model/resource.ts";
import { nameKey, resourceKey } from "../../model/resource.ts";
import { ApiKeys } from "./api-keys.ts";
import type { ClusterObject } from "./cluster-object.ts";
import { instanceNameOf, namespaceType, slimObject, typeOfKind } from "./cluster-object.ts";
import { ConfigMaps } from "./config-maps.ts";
import { setterOfSpec } from "./managed-fields.ts";
import { parseObject } from "./parse-object.ts";

const requestTimeoutMs = 10_000;
const listTimeoutMs = 30_000;

export interface ReadObjects {
  readonly gathered: Gathered;
  /** Rules in the instance's namespace of which the operator reports that their instance does not exist. */
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

/** All objects of the instance. `problem` is the reason if there is no result. */
export async function readInstanceOnce(
  api: ApiServer,
  clock: Clock,
  name: ObjectName,
): Promise<{ readonly ok: true; readonly read: ReadObjects } | { readonly ok: false; readonly problem: string }> {
  const reader = new Reader(api, clock);
  return await reader.read(name);
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

class Reader {
  readonly #api: ApiServer;
  readonly #keys: ApiKeys;
  readonly #maps: ConfigMaps;
  readonly #gaps = new Set<string>();
  readonly #objects = new Map<string, ClusterObject>();

  constructor(api: ApiServer, clock: Clock) {
    this.#api = api;
    this.#keys = new ApiKeys({ api, clock, onKey: () => undefined });
    this.#maps = new ConfigMaps({ api, watched: createObjectStore() });
  }

  async read(name: ObjectName) {
    const found = await getObject<ClusterObject>(this.#api, typeOfKind("WafInstance"), name, {
      timeoutMs: requestTimeoutMs,
    });
    if (!found.ok) return { ok: false, problem: unreadInstance(name, found.fault) } as const;
    const parsed = parseObject("WafInstance", this.#keep("WafInstance", found.value));
    if (!parsed.ok)
      return { ok: false, problem: `WafInstance ${nameKey(name)} is invalid: ${parsed.problem}` } as const;
    const instance = parsed.declared;
    const [ruleObjects, originObjects, blockObjects] = [
      await this.#attached("WafIpRule", name),
      await this.#attached("WafOrigin", name),
      await this.#attached("WafAutoBlock", name),
    ];
    const declaredRules = ruleObjects.flatMap((object) => this.#parsed("WafIpRule", object));
    const origins = originObjects.flatMap((object) => this.#parsed("WafOrigin", object));
    const autoBlocks = blockObjects.flatMap((object) => this.#parsed("WafAutoBlock", object));
    const rules: GatheredRule[] = [];
    for (const rule of declaredRules) {
      rules.push({ rule, texts: await this.#textsOf(rule) });
    }
    const key = await this.#keys.read(instance, 0);
    const gathered: Gathered = {
      instance,
      key,
      rules,
      origins,
      cacheClears: [],
      ...(autoBlocks.length > 0 && { autoBlocks }),
      namespaceLabels: await this.#labels(instance.meta.namespace, [...declaredRules, ...origins, ...autoBlocks]),
      brokenSources: [],
      sameKey: [],
    };
    const objects = this.#objects;
    const read: ReadObjects = {
      gathered,
      unattached: await this.#unattached(name),
      gaps: [...this.#gaps],
      statusOf: (object) => objects.get(resourceKey(object))?.status as Readonly<Record<string, unknown>> | undefined,
      setterOf: (meta) => setterOfSpec(objects.get(resourceKey(meta))?.metadata.managedFields),
    };
    return { ok: true, read } as const;
  }

  async #textsOf({ meta: { namespace }, addressesFrom }: DeclaredRule): Promise<AddressText[]> {
    const texts: AddressText[] = [];
    for (const { name, key } of addressesFrom) {
      const map = { namespace, name };
      await this.#maps.load(map, { lengthMax: Number.POSITIVE_INFINITY, isFresh: false });
      const problem = this.#maps.problem(map);
      if (problem !== undefined) this.#gaps.add(problem);
      texts.push(this.#maps.text(map, key));
    }
    return texts;
  }

  /** In all namespaces or, without permission, in the namespace of the instance. */
  async #attached(kind: ResourceKind, instance: ObjectName): Promise<readonly ClusterObject[]> {
    const fieldSelector = `spec.instanceRef.name=${instance.name}`;
    const type = typeOfKind(kind);
    const options = { fieldSelector, timeoutMs: listTimeoutMs };
    let listed = await listObjects<ClusterObject>(this.#api, type, options);
    if (!listed.ok && listed.fault.code === "Forbidden") {
      this.#gaps.add(
        `You are not allowed to list ${type.plural} in all namespaces: objects in other namespaces are not considered.`,
      );
      listed = await listObjects<ClusterObject>(this.#api, type, { ...options, namespace: instance.namespace });
    }
    if (!listed.ok) {
      this.#gaps.add(unlisted(type.plural, instance.namespace, listed.fault));
      return [];
    }
    return listed.value.items.filter((object) => {
      const of = instanceNameOf(object);
      return of !== undefined && nameKey(of) === nameKey(instance);
    });
  }

  async #unattached(instance: ObjectName): Promise<ReadObjects["unattached"]> {
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
      return this.#parsed("WafIpRule", object).map((rule) => ({ rule, message: ready.message }));
    });
  }

  #keep(kind: ResourceKind, object: ClusterObject): ClusterObject {
    const { namespace = "", name } = object.metadata;
    this.#objects.set(resourceKey({ kind, namespace, name }), object);
    return slimObject(kind, object, undefined);
  }

  #parsed<Kind extends "WafIpRule" | "WafOrigin" | "WafAutoBlock">(kind: Kind, object: ClusterObject) {
    const parsed = parseObject(kind, this.#keep(kind, object));
    if (parsed.ok) return [parsed.declared];
    const { namespace = "", name } = object.metadata;
    this.#gaps.add(`${kind} ${namespace}/${name} is invalid: ${parsed.problem}`);
    return [];
  }

  async #labels(
    home: string,
    attached: readonly { readonly meta: ResourceMeta }[],
  ): Promise<Map<string, Readonly<Record<string, string>>>> {
    const labels = new Map<string, Readonly<Record<string, string>>>();
    for (const namespace of new Set(attached.map(({ meta }) => meta.namespace))) {
      if (namespace === home) continue;
      const read = await getObject<KubeObject>(
        this.#api,
        namespaceType,
        { name: namespace },
        { timeoutMs: requestTimeoutMs },
      );
      if (read.ok) labels.set(namespace, read.value.metadata.labels ?? {});
      else if (read.fault.code === "Forbidden")
        this.#gaps.add(
          `You are not allowed to get namespace ${namespace}, whose labels determine whether its rules are attached.`,
        );
    }
    return labels;
  }
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
