// The WafRecord objects of one instance: their names and labels, and their binding to the instance. With `deletionPolicy: Delete`
// the instance owns its records, and a finalizer keeps its inventory readable until the instance is released, even when a cascade
// or a namespace deletion deletes it. With `Retain`, a record has neither: it outlives the instance, and does not block
// deletions.
import { apiGroup, apiVersion, apiVersionName, kinds, recordKind } from "../../api/kinds.ts";
import type { RecordType } from "../../api/waf-record.ts";
import { isRecord, type KubeObject, type KubeObjectMeta } from "../../kube/kube-object.ts";
import type { ResourceType } from "../../kube/resource-path.ts";
import type { ObjectName } from "../../model/resource.ts";
import type { ClusterObject } from "./cluster-object.ts";

export const recordResource: ResourceType = {
  group: apiGroup,
  version: apiVersionName,
  plural: kinds.WafRecord.plural,
  namespaced: true,
};

/** Only inventories have it, and only with `deletionPolicy: Delete`. */
export const recordFinalizer = `${apiGroup}/keep-record`;

const managedByLabel = "app.kubernetes.io/managed-by";
const managedBy = "wafsync";
const instanceLabel = `${apiGroup}/instance`;
const typeLabel = `${apiGroup}/record`;

/** The cached instance of a record. */
export interface RecordHolder {
  readonly uid: string;
  /** The record outlives the instance: `deletionPolicy: Retain`. */
  readonly retains: boolean;
}

/** An instance without a deletion policy retains its entries. */
export function recordHolderOf(instance: ClusterObject | undefined): RecordHolder | undefined {
  if (instance === undefined) return undefined;
  const { metadata, spec } = instance;
  return { uid: metadata.uid, retains: !isRecord(spec) || spec["deletionPolicy"] !== "Delete" };
}

/** The content of one object: named sections of text. */
export type RecordData = Readonly<Record<string, string>>;

export interface RecordObject extends KubeObject {
  readonly spec?: {
    readonly instance?: { readonly name?: string; readonly uid?: string };
    readonly feed?: { readonly uid?: string };
    readonly type?: string;
    readonly part?: number;
    readonly parts?: number;
    readonly format?: number;
    readonly data?: RecordData;
  };
}

/** The metadata of one object of a record. */
export interface RecordPart {
  readonly name: string;
  readonly type: RecordType;
  readonly part: number;
  readonly parts: number;
  readonly format: number;
  readonly data: RecordData;
}

export function recordSelector(type: RecordType, instanceName?: string): string {
  const ofInstance = instanceName === undefined ? instanceLabel : `${instanceLabel}=${instanceName}`;
  return `${managedByLabel}=${managedBy},${typeLabel}=${type},${ofInstance}`;
}

/** The name of the instance of an object; empty if there is none. */
export function instanceNameOfRecord({ metadata: { labels = {} } }: RecordObject): string {
  return labels[instanceLabel] ?? "";
}

/** The labels of every object of a record of this type. */
export function recordLabels(type: RecordType): Readonly<Record<string, string>> {
  return { [managedByLabel]: managedBy, [typeLabel]: type };
}

/** The whole object as it is written. `metadata` is merged over the common metadata of records. */
export function recordBody(
  instance: ObjectName,
  holder: RecordHolder | undefined,
  { name, type, ...content }: RecordPart,
  metadata: Readonly<Record<string, unknown>> & { readonly labels?: Readonly<Record<string, string>> },
): object {
  const labels = {
    ...metadata.labels,
    ...recordLabels(type),
    [instanceLabel]: instance.name,
  };
  return {
    apiVersion,
    kind: recordKind,
    metadata: { ...metadata, name, namespace: instance.namespace, labels },
    spec: {
      instance: { name: instance.name, ...(holder !== undefined && { uid: holder.uid }) },
      type,
      ...content,
    },
  };
}

/** Makes the garbage collector delete the record after the instance. Never blocks the deletion of the instance. */
export function ownersOfRecord({ name }: ObjectName, holder: RecordHolder | undefined): object[] {
  if (holder === undefined || holder.retains) return [];
  const { uid } = holder;
  return [{ apiVersion, kind: "WafInstance", name, uid, controller: true, blockOwnerDeletion: false }];
}

export function isOwnedBy({ ownerReferences = [] }: KubeObjectMeta, uid: string): boolean {
  return ownerReferences.some((reference) => isRecord(reference) && reference["uid"] === uid);
}
