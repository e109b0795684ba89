// The WafRecord objects of a record: their names and labels, and their binding to the instance or feed. With `deletionPolicy: Delete`
// the instance owns its records, and a finalizer keeps its inventory readable until the instance is released, even when a cascade
// or a namespace deletion deletes it. With `Retain`, a record has neither: it outlives the instance, and does not block deletions.
import { apiGroup, apiVersion, apiVersionName, pluralOf, recordKind } from "../kinds/kinds.ts";
import type { WafRecordSpec } from "../kinds/waf-record.ts";
import { isRecord, type KubeObject, type KubeObjectMeta } from "../kube/kube-object.ts";
import type { ResourceType } from "../kube/resource-path.ts";
import { type RecordKey, recordNames } from "./record-store.ts";

export const recordResource: ResourceType = {
  group: apiGroup,
  version: apiVersionName,
  plural: pluralOf(recordKind),
  namespaced: true,
};

/** The version of the layout of objects that this program writes and reads. */
export const recordFormat = 1;
/** Only inventories have it, and only with `deletionPolicy: Delete`. */
export const recordFinalizer = `${apiGroup}/keep-record`;
/** The version that an object replaces. It makes every save a change, so that two concurrent saves can't both succeed. */
const followsAnnotation = `${apiGroup}/follows`;
const managedByLabel = "app.kubernetes.io/managed-by";
const managedBy = "wafsync";
const typeLabel = `${apiGroup}/record`;

/** The cached instance or feed of a record. */
export interface RecordOwner {
  /** Undefined for a folder, which is not in the cluster. */
  readonly uid: string | undefined;
  /** The record outlives its owner: an instance with `deletionPolicy: Retain`. */
  readonly retains: boolean;
}

/** @param object the instance or feed of the record. An instance without a deletion policy retains its entries. */
export function recordOwnerOf(
  { type }: Pick<RecordKey, "type">,
  object: { readonly metadata: KubeObjectMeta; readonly spec?: unknown } | undefined,
): RecordOwner | undefined {
  if (object === undefined) return undefined;
  const { metadata, spec } = object;
  const isDeleted = type === "Feed" || (isRecord(spec) && spec["deletionPolicy"] === "Delete");
  return { uid: metadata.uid, retains: !isDeleted };
}

export interface RecordObject extends KubeObject {
  readonly spec?: Partial<WafRecordSpec>;
}

/** The part of an object that does not depend on its owner. */
export type RecordContent = Pick<WafRecordSpec, "text" | "digest" | "parts">;

/** The first object of the record: it contains the text, or its first line and the names of the parts. */
export function headName({ type, name }: Pick<RecordKey, "type" | "name">): string {
  return `${name}-${recordNames[type]}`;
}

function ownerKindOf({ type }: Pick<RecordKey, "type">): "instance" | "feed" | "folder" {
  if (type === "State") return "folder";
  return type === "Feed" ? "feed" : "instance";
}

/** Selects the objects of one record, or of all records of this type. */
export function recordSelector(key: Pick<RecordKey, "type"> & { readonly name?: string }): string {
  const ownerLabel = `${apiGroup}/${ownerKindOf(key)}`;
  const ofOwner = key.name === undefined ? ownerLabel : `${ownerLabel}=${key.name}`;
  return `${managedByLabel}=${managedBy},${typeLabel}=${key.type},${ofOwner}`;
}

/** The name of the instance of an object; empty if there is none. */
export function instanceNameOfRecord({ metadata: { labels = {} } }: KubeObject): string {
  return labels[`${apiGroup}/instance`] ?? "";
}

/** The whole object as it is written. `former` is the object that it replaces. */
export function recordBody(
  key: RecordKey,
  owner: RecordOwner,
  name: string,
  { text, digest, parts }: RecordContent,
  former: KubeObjectMeta | undefined,
): object {
  const ownerKind = ownerKindOf(key);
  return {
    apiVersion,
    kind: recordKind,
    metadata: {
      name,
      namespace: key.namespace,
      labels: {
        ...former?.labels,
        [managedByLabel]: managedBy,
        [typeLabel]: key.type,
        [`${apiGroup}/${ownerKind}`]: key.name,
      },
      annotations: { ...former?.annotations, ...(former && { [followsAnnotation]: former.resourceVersion }) },
      finalizers: finalizersOf(key, owner, former),
      ownerReferences: ownersOf(key, owner),
      ...(former && { resourceVersion: former.resourceVersion }),
    },
    spec: {
      [ownerKind]: { name: key.name, uid: owner.uid },
      type: key.type,
      format: recordFormat,
      text,
      digest,
      ...(parts && { parts }),
    },
  };
}

/** Makes the garbage collector delete the record after its owner. Never blocks the deletion of the owner. */
function ownersOf(key: RecordKey, { uid, retains }: RecordOwner): object[] {
  const kind = key.type === "Feed" ? "WafFeed" : "WafInstance";
  return retains ? [] : [{ apiVersion, kind, name: key.name, uid, controller: true, blockOwnerDeletion: false }];
}

/** An object that is being deleted disappears with its last finalizer, and can't get a new one. */
function finalizersOf(key: RecordKey, owner: RecordOwner, former: KubeObjectMeta | undefined): readonly string[] {
  const stored = former?.finalizers ?? [];
  if (former?.deletionTimestamp !== undefined) return stored;
  const others = stored.filter((finalizer) => finalizer !== recordFinalizer);
  return key.type === "Inventory" && !owner.retains ? [...others, recordFinalizer] : others;
}

/** Whether a write would change only its content. */
export function isHeldFor(key: RecordKey, { uid, retains }: RecordOwner, { metadata, spec }: RecordObject): boolean {
  const { finalizers = [], ownerReferences = [], deletionTimestamp } = metadata;
  const isKept = finalizers.includes(recordFinalizer) === (key.type === "Inventory" && !retains);
  const named = spec?.[ownerKindOf(key)] as { readonly uid?: string } | undefined;
  const isOwned = ownerReferences.some((reference) => isRecord(reference) && reference["uid"] === uid);
  return (
    (isKept || deletionTimestamp !== undefined) &&
    (retains ? ownerReferences.length === 0 : isOwned) &&
    named?.uid === uid
  );
}

/** A feed can be fetched again, so the record of a former feed of the same name counts as absent. */
export function isOfFormerFeed({ type }: RecordKey, owner: RecordOwner | undefined, { spec }: RecordObject): boolean {
  return type === "Feed" && owner !== undefined && spec?.feed?.uid !== owner.uid;
}
