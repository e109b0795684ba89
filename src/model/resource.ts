// Names of the declared objects, in a cluster or in a directory.

/** The kinds that declare entries or origins: those last declared by an object that can't be read are kept. */
export const entryKinds = ["WafIpRule", "WafOrigin", "WafAutoBlock"] as const;
/** The kinds whose attached objects metrics count if they are not Ready. Instances and cache clears have their own metrics. */
export const notReadyKinds = [...entryKinds, "WafFeed"] as const;
/** The kinds that refer to an instance, and that its owner can grant to other namespaces. */
export const guestKinds = [...entryKinds, "WafCacheClear"] as const;
export type GuestKind = (typeof guestKinds)[number];
/** The kinds that users declare. */
export const resourceKinds = ["WafInstance", ...guestKinds, "WafFeed"] as const;
export type ResourceKind = (typeof resourceKinds)[number];

/** A namespaced name: how rules refer to instances, and the key of queues. */
export interface ObjectName {
  readonly namespace: string;
  readonly name: string;
}

/** Names that Kubernetes allows: RFC 1123 subdomains for objects, labels for namespaces. */
export const nameLengthMax = 253;
export const namespaceLengthMax = 63;
const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
export const labelPattern = `^${label}$`;
export const subdomainPattern = `^${label}(\\.${label})*$`;

const labelExpression = new RegExp(labelPattern, "u");
const subdomainExpression = new RegExp(subdomainPattern, "u");

export function isNameOfObject(text: string): boolean {
  return text.length <= nameLengthMax && subdomainExpression.test(text);
}

/** Namespaces have shorter names than other objects, without dots. */
export function isNameOfNamespace(text: string): boolean {
  return text.length <= namespaceLengthMax && labelExpression.test(text);
}

/** On an instance: approves the removals with the given hash. */
export const approvalAnnotation = "wafsync.dev/approve-removals";

export interface ResourceRef extends ObjectName {
  readonly kind: ResourceKind;
}

/** The program that last set a field of an object, and when. */
export interface FieldSetter {
  /** For example `kubectl-annotate`. */
  readonly manager: string;
  /** In RFC 3339. */
  readonly time: string;
}

/** The metadata of an object that wafsync needs. */
export interface ResourceMeta extends ResourceRef {
  /** Empty in a directory, where objects are identified only by their names. */
  readonly uid: string;
  /** Counts the changes of `spec`; 1 in a directory. */
  readonly generation: number;
  /** Milliseconds since 1970; undefined in a directory, where the age is unknown. */
  readonly createdAtMs: number | undefined;
  readonly annotations: Readonly<Record<string, string>>;
  /** True as soon as the deletion is requested. */
  readonly deleting: boolean;
  /** Who approved removals with the annotation, as recorded by Kubernetes. */
  readonly approver?: FieldSetter;
  /** Where the user finds it, for example `rules/office.yaml:12`; empty in a cluster. */
  readonly location: string;
}

/** `namespace/name`: unique among the objects of one kind. */
export function nameKey({ namespace, name }: ObjectName): string {
  return `${namespace}/${name}`;
}

/** The reverse of `nameKey`. */
export function nameOfKey(key: string): ObjectName {
  const slash = key.indexOf("/");
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** `WafIpRule namespace/name`: unique among all objects, and readable in a message. */
export function resourceKey(ref: ObjectName & { readonly kind: string }): string {
  return `${ref.kind} ${nameKey(ref)}`;
}

/** Oldest first: by creation time, then by name. Objects without a creation time are ordered by name alone. */
export function byAge(a: ResourceMeta, b: ResourceMeta): number {
  const age = (a.createdAtMs ?? 0) - (b.createdAtMs ?? 0);
  if (age !== 0) return age;
  // Thousands are sorted at a time, mostly from few namespaces: this comparison creates no new strings.
  if (a.namespace === b.namespace) return compare(a.name, b.name);
  return compare(nameKey(a), nameKey(b));
}

function compare(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
