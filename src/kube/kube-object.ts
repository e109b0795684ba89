// The part of every Kubernetes object that this folder needs to know.

export interface KubeObjectMeta {
  readonly name: string;
  /** Missing on cluster-scoped objects. */
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly unknown[];
  readonly managedFields?: readonly unknown[];
}

export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: KubeObjectMeta;
}

/** `namespace/name`, or only the name for cluster-scoped objects: unique among the objects of one kind. */
export function objectKey({ namespace, name }: { readonly namespace?: string; readonly name: string }): string {
  return namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether this is a stored object, with a name, UID and resourceVersion. */
export function isKubeObject(value: unknown): value is KubeObject {
  if (!isRecord(value) || !isRecord(value["metadata"])) return false;
  const { name, uid, resourceVersion } = value["metadata"];
  return isFilled(name) && isFilled(uid) && isFilled(resourceVersion);
}

function isFilled(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
