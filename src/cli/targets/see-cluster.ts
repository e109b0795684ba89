// Reads all objects of a cluster that the user may list: cluster-wide, or otherwise in one namespace.
import type { ApiFault } from "../../kube/api-result.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import { listObjects } from "../../kube/verbs.ts";
import type { ResourceKind } from "../../model/resource.ts";
import type { ClusterObject } from "../../source/cluster/cluster-object.ts";
import { instanceNameOf, typeOfKind } from "../../source/cluster/cluster-object.ts";
import type { Seen, SeenAttached, SeenInstance, SeenObject } from "./seen.ts";
import { byName } from "./seen.ts";

const listTimeoutMs = 30_000;
const attachedKinds = ["WafIpRule", "WafOrigin"] as const;

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
  const gaps = namespace === undefined && instances.namespace !== undefined ? [narrowed("wafinstances", fallback)] : [];
  const objects: Record<"WafIpRule" | "WafOrigin" | "WafFeed", readonly ClusterObject[]> = {
    WafIpRule: [],
    WafOrigin: [],
    WafFeed: [],
  };
  for (const kind of [...attachedKinds, "WafFeed"] as const) {
    const listed = await list(api, kind, namespace, fallback);
    objects[kind] = listed.objects;
    const { plural } = typeOfKind(kind);
    if (listed.fault !== undefined) gaps.push(`The ${plural} cannot be listed: ${listed.fault.message}`);
    else if (listed.namespace !== instances.namespace) gaps.push(narrowed(plural, fallback));
  }
  return { ...seenObjects({ ...objects, WafInstance: instances.objects }), atMs, where, refused: undefined, gaps };
}

/** The objects as a page needs them. */
export function seenObjects(
  objects: Readonly<Record<"WafInstance" | "WafIpRule" | "WafOrigin" | "WafFeed", readonly ClusterObject[]>>,
): Pick<Seen, "instances" | "attached" | "feeds"> {
  return {
    instances: byName(objects.WafInstance.map(seenInstance)),
    attached: attachedKinds.flatMap((kind) => objects[kind].map((object) => seenAttached(kind, object))),
    feeds: byName(objects.WafFeed.map((object) => seenObject("WafFeed", object))),
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
  return { ...seenObject(kind, object), instance: instanceNameOf(object) };
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

function narrowed(plural: string, namespace: string): string {
  return `You are not allowed to list ${plural} in all namespaces: only those in namespace ${namespace} are shown.`;
}

function refusalOf({ code, message }: ApiFault, namespace: string): string {
  if (code === "Forbidden") {
    return `You are not allowed to list wafinstances in namespace ${namespace}. Ask for this permission, or choose another namespace with -n.`;
  }
  if (code === "NotFound") return "The wafsync CRDs are not installed in this cluster.";
  return `The instances cannot be listed: ${message}`;
}
