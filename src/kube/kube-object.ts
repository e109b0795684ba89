// The part of every Kubernetes object that this folder needs to know: its metadata, the order of its versions, and its times.

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

/** Decimal integers without leading zeros have an order, as Kubernetes defines it. Other resourceVersions are opaque. */
const orderable = /^[1-9][0-9]*$/;

/** True only if both have an order and `left` comes before `right`. */
export function isOlderVersion(left: string, right: string): boolean {
  if (!orderable.test(left) || !orderable.test(right)) return false;
  if (left.length !== right.length) return left.length < right.length;
  return left < right;
}

/** `2026-11-21T12:00:00.123000Z`, from milliseconds since 1970. */
export function microTime(timeMs: number): string {
  return new Date(timeMs).toISOString().replace("Z", "000Z");
}

/** `2026-11-21T12:00:00Z`, from milliseconds since 1970. */
export function secondsTime(timeMs: number): string {
  return new Date(timeMs).toISOString().replace(/\.\d+Z$/, "Z");
}
