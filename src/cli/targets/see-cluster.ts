// Reads all objects of a cluster that the user may list: cluster-wide, or otherwise in one namespace.
import type { ApiFault } from "../../kube/api-result.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import { listObjects } from "../../kube/verbs.ts";
import type { ResourceKind } from "../../model/resource.ts";
import type { ClusterObject } from "../../source/cluster/cluster-object.ts";
import { instanceNameOf, typeOfKind } from "../../source/cluster/cluster-object.ts";
import type { Seen, SeenAttached, SeenInstance, SeenObject } from "./target.ts";
import { byName } from "./target.ts";

const listTimeoutMs = 30_000;
const attachedKinds = ["WafIpRule", "WafOrigin", "WafAutoBlock", "WafCacheClear"] as const;
type SeenKind = "WafInstance" | "WafFeed" | (typeof attachedKinds)[number];

interface Scope {
  /** The only namespace to read; undefined for all namespaces that the user may list. */
  readonly namespace: string | undefined;
  /** The namespace to read if the user may not list all namespaces. */
  readonly fallback: string;
}

interface Listed {
  readonly objects: readonly ClusterObject[];
  readonly fault: ApiFault | undefined;
  /** The namespace that was read; undefined for all. */
  readonly namespace: string | undefined;
}

/**
 * Never rejects: kinds that cannot be listed are reported as gaps. If the instances cannot be listed, the result has no objects.
 */
export async function seeCluster(api: ApiServer, { namespace, fallback }: Scope, atMs: number): Promise<Seen> {
  const instances = await list(api, "WafInstance", namespace, fallback);
  const where = instances.namespace === undefined ? "in all namespaces" : `in namespace ${instances.namespace}`;
  if (instances.fault !== undefined) {
    const refused = refusalOf(instances.fault, instances.namespace ?? fallback);
    return { atMs, where, instances: [], attached: [], feeds: [], refused, gaps: [] };
  }
  const home = instances.namespace;
  const narrowed = namespace === undefined && home !== undefined ? ["wafinstances"] : [];
  const gaps: string[] = [];
  const read = async (kind: SeenKind, within: string | undefined): Promise<readonly ClusterObject[]> => {
    const { objects, fault, namespace: seen } = await list(api, kind, within, home ?? fallback);
    const { plural } = typeOfKind(kind);
    if (fault?.code === "Forbidden") gaps.push(`You are not allowed to list ${plural}: they are not shown.`);
    else if (fault !== undefined) gaps.push(`The ${plural} cannot be listed: ${fault.message}`);
    else if (seen !== within) narrowed.push(plural);
    return objects;
  };
  // Objects of other namespaces may refer to the instances of this one.
  const isOfHome = (object: ClusterObject): boolean =>
    home === undefined || object.metadata.namespace === home || instanceNameOf(object)?.namespace === home;
  const attached = async (kind: SeenKind) => (await read(kind, undefined)).filter(isOfHome);
  const objects = {
    WafInstance: instances.objects,
    WafIpRule: await attached("WafIpRule"),
    WafOrigin: await attached("WafOrigin"),
    WafAutoBlock: await attached("WafAutoBlock"),
    WafCacheClear: await attached("WafCacheClear"),
    WafFeed: await read("WafFeed", home),
  };
  if (narrowed.length > 0) {
    const plurals = narrowed.join(", ");
    gaps.unshift(
      `You are not allowed to list ${plurals} in all namespaces: only those in ${home ?? fallback} are shown.`,
    );
  }
  return { ...seenObjects((kind) => objects[kind]), atMs, where, refused: undefined, gaps };
}

/** The objects as a page needs them. */
export function seenObjects(
  objects: (kind: SeenKind) => readonly ClusterObject[],
): Pick<Seen, "instances" | "attached" | "feeds"> {
  return {
    instances: byName(objects("WafInstance").map(seenInstance)),
    attached: attachedKinds.flatMap((kind) => objects(kind).map((object) => seenAttached(kind, object))),
    feeds: byName(objects("WafFeed").map((object) => seenObject("WafFeed", object))),
  };
}

function seenObject<Kind extends ResourceKind>(
  kind: Kind,
  object: ClusterObject,
): SeenObject & { readonly kind: Kind } {
  const { namespace = "", name } = object.metadata;
  const status = object.status as SeenObject["status"];
  return { kind, namespace, name, status };
}

function seenInstance(object: ClusterObject): SeenInstance {
  const spec = (object.spec ?? {}) as { readonly baseUrl?: unknown; readonly suspend?: unknown };
  const baseUrl = typeof spec.baseUrl === "string" ? spec.baseUrl : "";
  return { ...seenObject("WafInstance", object), baseUrl, isSuspended: spec.suspend === true };
}

function seenAttached(kind: (typeof attachedKinds)[number], object: ClusterObject): SeenAttached {
  const { description } = (object.spec ?? {}) as { readonly description?: unknown };
  const words = typeof description === "string" ? { description } : {};
  return { ...seenObject(kind, object), instance: instanceNameOf(object), ...words };
}

async function list(
  api: ApiServer,
  kind: ResourceKind,
  namespace: string | undefined,
  fallback: string,
): Promise<Listed> {
  const read = async (within: string | undefined): Promise<Listed> => {
    const scope = within === undefined ? {} : { namespace: within };
    const listed = await listObjects<ClusterObject>(api, typeOfKind(kind), { ...scope, timeoutMs: listTimeoutMs });
    return listed.ok
      ? { objects: listed.value.items, fault: undefined, namespace: within }
      : { objects: [], fault: listed.fault, namespace: within };
  };
  const first = await read(namespace);
  return namespace === undefined && first.fault?.code === "Forbidden" ? await read(fallback) : first;
}

function refusalOf({ code, message }: ApiFault, namespace: string): string {
  if (code === "Forbidden") {
    return `You are not allowed to list wafinstances in namespace ${namespace}. Ask for this permission, or choose another namespace with -n.`;
  }
  if (code === "NotFound") return "The wafsync CRDs are not installed in this cluster.";
  return `The instances cannot be listed: ${message}`;
}
