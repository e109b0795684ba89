// The objects of an instance, by one consistent read for each kind: before removals, so that a stale cache cannot unblock anyone, and for
// commands, with the permissions of their users.
import { apiGroup, apiVersionName } from "../../kinds/kinds.ts";
import type { ApiFault } from "../../kube/api-result.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import type { KubeObject } from "../../kube/kube-object.ts";
import type { ObjectStore } from "../../kube/store.ts";
import { listObjects } from "../../kube/verbs.ts";
import { dependsOnLabels } from "../../model/attachment.ts";
import { continuesOf } from "../../model/continues.ts";
import type { DeclaredInstance } from "../../model/declared.ts";
import {
  entryKinds,
  type GuestKind,
  guestKinds,
  nameKey,
  resourceKey,
  type ResourceKind,
  resourceKinds,
} from "../../model/resource.ts";
import type { LabelsOf } from "../gather.ts";
import { refusalOf } from "./attachment.ts";
import { type ClusterObject, coreType, metaOfObject, parseObject, typeOfKind } from "./cluster-object.ts";
import { createKindStore } from "./cluster-watches.ts";

export const requestTimeoutMs = 10_000;
export const listTimeoutMs = 30_000;

export interface InstanceObjects {
  readonly instance: DeclaredInstance;
  /** All objects that refer to it, valid or not. */
  readonly referring: readonly ClusterObject[];
  readonly labelsOf: LabelsOf;
}

export type Fresh<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

export type KindStores = Readonly<Record<ResourceKind, ObjectStore<ClusterObject>>>;

export interface FreshReading {
  readonly api: ApiServer;
  /** The only namespace that may be read; all if undefined. */
  readonly namespace: string | undefined;
  /** The known labels, where those of all namespaces can't or need not be read. */
  readonly labelsOf: LabelsOf;
  /** Reduces an object that was read to the form in which it is stored. */
  readonly slim: (kind: ResourceKind, object: ClusterObject) => ClusterObject;
  /**
   * For a command: called with what is left out because it may not be read; without it, the whole read fails. A command shows no cache
   * clears, but also reads objects that refer to other instances, for their references may be wrong.
   */
  readonly onGap?: (gap: string) => void;
}

/** The current objects of this instance, and of a command also others. Never rejects. */
export async function readObjects(
  reading: FreshReading,
  own: ClusterObject,
): Promise<Fresh<InstanceObjects & { readonly stores: KindStores }>> {
  const parsed = parseObject<"WafInstance">(own);
  if (!parsed.ok) {
    return { ok: false, problem: `${resourceKey(metaOfObject(own))} is invalid: ${parsed.problem}` };
  }
  const instance = parsed.declared;
  const { meta } = instance;
  const stores = Object.fromEntries(resourceKinds.map((kind) => [kind, createKindStore()])) as KindStores;
  stores.WafInstance.put(own);
  const home = reading.namespace ?? (mayHaveGuests(instance) ? undefined : meta.namespace);
  const wanted =
    reading.onGap === undefined
      ? guestKinds.map((kind) => ({ kind, scope: home, which: `=${meta.name}` }))
      : entryKinds.flatMap((kind) => [
          { kind, scope: undefined, which: `=${meta.name}` },
          { kind, scope: home, which: `!=${meta.name}` },
        ]);
  const lists = await Promise.all(
    wanted.map(async (list) => ({ ...list, read: await listKind(reading, list, instance) })),
  );
  for (const { kind, read } of lists) {
    if (!read.ok) return read;
    for (const object of read.value) stores[kind].put(object);
  }
  const referring = guestKinds.flatMap((kind) => stores[kind].listBy("instance", nameKey(meta)));
  const labels = await readLabels(reading, instance, referring);
  return labels.ok ? { ok: true, value: { instance, referring, labelsOf: labels.value, stores } } : labels;
}

/** Without grants, and if it continues no other instance, only objects of the instance's namespace can be meant for it. */
function mayHaveGuests({ access, meta }: DeclaredInstance): boolean {
  return access.length > 0 || continuesOf(meta).state === "Named";
}

/** Without permission for all namespaces, a command reads that of the instance. */
async function listKind(
  { api, slim, onGap }: FreshReading,
  { kind, scope, which }: { readonly kind: GuestKind; readonly scope: string | undefined; readonly which: string },
  { meta }: DeclaredInstance,
): Promise<Fresh<readonly ClusterObject[]>> {
  const type = typeOfKind(kind);
  const { plural } = type;
  const list = async (namespace: string | undefined) =>
    await listObjects<ClusterObject>(api, type, {
      namespace,
      fieldSelector: `spec.instanceRef.name${which}`,
      timeoutMs: listTimeoutMs,
      slim: (object) => slim(kind, object),
    });
  let listed = await list(scope);
  if (!listed.ok && onGap !== undefined && scope === undefined && listed.fault.code === "Forbidden") {
    onGap(`You are not allowed to list ${plural} in all namespaces: objects in other namespaces are not considered.`);
    listed = await list(meta.namespace);
  }
  if (listed.ok) return { ok: true, value: listed.value.items };
  if (onGap === undefined) return failedRead(`The ${plural} of ${nameKey(meta)}`, listed.fault);
  const forbidden = `You are not allowed to list ${plural} in namespace ${meta.namespace}: ask for this permission.`;
  onGap(listed.fault.code === "Forbidden" ? forbidden : `The ${plural} cannot be read: ${listed.fault.message}`);
  return { ok: true, value: [] };
}

/** The current labels of all namespaces, if access depends on them. A command knows none, and feeds may depend on them, too. */
async function readLabels(
  { api, labelsOf, onGap }: FreshReading,
  instance: DeclaredInstance,
  referring: readonly ClusterObject[],
): Promise<Fresh<LabelsOf>> {
  const hasGuests = referring.some(
    (object) =>
      object.metadata.namespace !== instance.meta.namespace &&
      refusalOf(instance, () => undefined, object) === undefined,
  );
  if (!hasGuests || (onGap === undefined && !dependsOnLabels(instance))) return { ok: true, value: labelsOf };
  const read = await listObjects<KubeObject>(api, coreType("Namespace"), {
    timeoutMs: listTimeoutMs,
    metadataOnly: true,
  });
  if (read.ok) {
    const labels = new Map(read.value.items.map(({ metadata }) => [metadata.name, metadata.labels ?? {}]));
    return { ok: true, value: (name) => labels.get(name) };
  }
  if (onGap === undefined) return failedRead("The namespaces", read.fault);
  onGap("You are not allowed to list namespaces, whose labels determine which objects are attached.");
  return { ok: true, value: labelsOf };
}

/**
 * A kind whose CRD is being deleted; undefined if there is none. Its objects disappear one after another, although lists still
 * succeed, and users did not delete the objects that are missing from such a list. During this time, the API server does not offer
 * the verb `create` for the kind. Never rejects.
 */
export async function findTerminatingCrd(api: ApiServer): Promise<Fresh<ResourceKind | undefined>> {
  const path = `/apis/${apiGroup}/${apiVersionName}`;
  type Kinds = { readonly resources?: readonly { readonly name: string; readonly verbs: readonly string[] }[] };
  const read = await api.request<Kinds>({ method: "GET", path, timeoutMs: requestTimeoutMs });
  if (!read.ok && read.fault.code === "Forbidden") return { ok: true, value: undefined };
  if (!read.ok) return failedRead(`The kinds of ${apiGroup}`, read.fault);
  const terminating = (["WafInstance", ...entryKinds] as const).find((kind) => {
    const known = read.value.resources?.find(({ name }) => name === typeOfKind(kind).plural);
    return known?.verbs.includes("create") !== true;
  });
  return { ok: true, value: terminating };
}

function failedRead(subject: string, fault: ApiFault): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem: `${subject} could not be reread: ${fault.message}` };
}
