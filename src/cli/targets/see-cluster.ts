// Reads all objects of a cluster that the user may list: cluster-wide, or otherwise in one namespace.
import type { ApiFault } from "../../kube/api-result.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import { listObjects } from "../../kube/verbs.ts";
import { guestKinds, type ResourceKind } from "../../model/resource.ts";
import { type ClusterObject, instanceNameOf, typeOfKind } from "../../source/cluster/cluster-object.ts";
import type { Seen, SeenObject } from "./target.ts";

const listTimeoutMs = 30_000;

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
  const where = whereOf(instances.namespace);
  if (instances.fault !== undefined) {
    return { atMs, where, objects: [], refused: refusalOf(instances.fault, instances.namespace ?? fallback), gaps: [] };
  }
  const home = instances.namespace;
  const narrowed = namespace === undefined && home !== undefined ? ["wafinstances"] : [];
  const gaps: string[] = [];
  const objects = instances.objects.map((object) => seenObject("WafInstance", object));
  const add = async (kind: ResourceKind, within: string | undefined): Promise<void> => {
    const read = await list(api, kind, within, home ?? fallback);
    const { plural } = typeOfKind(kind);
    if (read.fault?.code === "Forbidden") gaps.push(`You are not allowed to list ${plural}: they are not shown.`);
    else if (read.fault !== undefined) gaps.push(`The ${plural} cannot be listed: ${read.fault.message}`);
    else if (read.namespace !== within) narrowed.push(plural);
    const seen = read.objects.map((object) => seenObject(kind, object));
    // Objects of other namespaces may refer to the instances of this one.
    objects.push(...seen.filter((one) => [one.namespace, one.instance?.namespace].includes(home ?? one.namespace)));
  };
  for (const kind of guestKinds) await add(kind, undefined);
  await add("WafFeed", home);
  if (narrowed.length > 0) {
    const plurals = narrowed.join(", ");
    gaps.unshift(
      `You are not allowed to list ${plurals} in all namespaces: only those in ${home ?? fallback} are shown.`,
    );
  }
  return { atMs, where, objects, refused: undefined, gaps };
}

export function whereOf(namespace: string | undefined): string {
  return namespace === undefined ? "in all namespaces" : `in namespace ${namespace}`;
}

export function seenObject(kind: ResourceKind, object: ClusterObject): SeenObject {
  const { namespace = "", name } = object.metadata;
  const { description, baseUrl, suspend } = (object.spec ?? {}) as Readonly<Record<string, unknown>>;
  return {
    kind,
    namespace,
    name,
    status: object.status as SeenObject["status"],
    instance: instanceNameOf(object),
    description: typeof description === "string" ? description : undefined,
    baseUrl: typeof baseUrl === "string" ? baseUrl : undefined,
    suspend: suspend === true,
  };
}

async function list(
  api: ApiServer,
  kind: ResourceKind,
  namespace: string | undefined,
  fallback: string,
): Promise<Listed> {
  const read = async (within: string | undefined): Promise<Listed> => {
    const listed = await listObjects<ClusterObject>(api, typeOfKind(kind), {
      namespace: within,
      timeoutMs: listTimeoutMs,
    });
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
