// The objects that the desired state is read from: their resource types, the reduced form in which they are stored, and which
// changes of them matter. A stored object shares its spec with its former version if the two are equal, so that a spec is
// parsed only once although status and labels change.
import { apiGroup, apiVersion, apiVersionName, instanceFinalizer, pluralOf } from "../../kinds/kinds.ts";
import { parseResource } from "../../kinds/parse-resource.ts";
import type { ResourceFault } from "../../kinds/resource-fault.ts";
import { type DeclaredByKind, toDeclared, toResourceMeta } from "../../kinds/to-declared.ts";
import { isRecord, type KubeObject, type KubeObjectMeta } from "../../kube/kube-object.ts";
import type { ResourceType } from "../../kube/resource-path.ts";
import { sameJson } from "../../kube/status-writer.ts";
import { textFields, type TextKind } from "../../model/address-source.ts";
import {
  approvalAnnotation,
  type FieldSetter,
  nameKey,
  type ObjectName,
  type ResourceKind,
  type ResourceMeta,
} from "../../model/resource.ts";
import type { DeclaredInstance } from "../../model/declared.ts";

export interface ClusterObject extends KubeObject {
  readonly kind: ResourceKind;
  readonly spec?: unknown;
  readonly status?: unknown;
}

/** The type of a kind of Kubernetes itself. */
export function coreType(kind: TextKind | "Namespace"): ResourceType {
  return { group: "", version: "v1", plural: `${kind.toLowerCase()}s`, namespaced: kind !== "Namespace" };
}

export function typeOfKind(kind: ResourceKind): ResourceType {
  return { group: apiGroup, version: apiVersionName, plural: pluralOf(kind), namespaced: true };
}

/** As large as the object itself, and used only by kubectl. */
const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

/** The stored form of an object of wafsync's kinds. `former` is the version that was stored before, if any. */
export function slimObject(
  kind: ResourceKind,
  object: ClusterObject,
  former: ClusterObject | undefined,
): ClusterObject {
  const { metadata, spec, status } = object;
  const isSame = former?.metadata.uid === metadata.uid && sameJson(former.spec, spec);
  return { apiVersion, kind, metadata: slimMetadata(metadata), spec: isSame ? former.spec : spec, status };
}

/** Only the metadata of a Namespace matters. */
export function slimNamespace({ metadata }: KubeObject): KubeObject {
  const { annotations: _annotations, ...rest } = slimMetadata(metadata);
  return { metadata: rest };
}

/** Identifies the object and its version. */
export function slimIdentity({ metadata }: KubeObject): KubeObject {
  const { namespace = "", name, uid, resourceVersion } = metadata;
  return { metadata: { namespace, name, uid, resourceVersion } };
}

/** Of the managed fields, only those with an approval are needed. */
function slimMetadata(metadata: KubeObjectMeta): KubeObjectMeta {
  const { managedFields = [], ownerReferences: _ownerReferences, annotations = {}, ...rest } = metadata;
  const { [lastAppliedAnnotation]: _lastApplied, ...kept } = annotations;
  const approvals = managedFields.filter((entry) => approverIn([entry]) !== undefined);
  return { ...rest, annotations: kept, ...(approvals.length > 0 && { managedFields: approvals }) };
}

/** The instance that the object refers to; undefined if the reference cannot be read. */
export function instanceNameOf({ metadata, spec }: ClusterObject): ObjectName | undefined {
  const reference = isRecord(spec) ? spec["instanceRef"] : undefined;
  if (!isRecord(reference) || typeof reference["name"] !== "string") return undefined;
  const namespace = reference["namespace"] ?? metadata.namespace;
  return typeof namespace === "string" ? { namespace, name: reference["name"] } : undefined;
}

/** What `referenceOf` returns if `spec.instanceRef` cannot be read; no instance has this name. */
export const unreadableInstance = "";

/** The `namespace/name` of the instance that the object refers to. */
export function referenceOf(object: ClusterObject): string {
  const name = instanceNameOf(object);
  return name === undefined ? unreadableInstance : nameKey(name);
}

/** An object that rules take addresses from, or an instance its key. */
export interface SourceObject extends ObjectName {
  readonly kind: TextKind | "WafFeed";
}

/** Unique among all sources, and readable in a message. */
export function sourceKey({ kind, ...name }: SourceObject): string {
  return `${kind} ${nameKey(name)}`;
}

const sourceFields = [...textFields, ["feedRef", "WafFeed"]] as const;

/** The objects of `spec.addressesFrom` of a rule, or the Secret of an instance. The object may be invalid. */
export function sourcesOf({ metadata, spec }: ClusterObject): SourceObject[] {
  if (!isRecord(spec)) return [];
  const items: unknown[] = Array.isArray(spec["addressesFrom"]) ? [...(spec["addressesFrom"] as unknown[])] : [];
  if (spec["apiKeySecretRef"] !== undefined) items.push({ secretKeyRef: spec["apiKeySecretRef"] });
  const sources = items.flatMap((item) =>
    sourceFields.flatMap(([field, kind]): SourceObject[] => {
      const reference = isRecord(item) ? item[field] : undefined;
      if (!isRecord(reference)) return [];
      const { name, namespace = metadata.namespace } = reference;
      return typeof name === "string" && typeof namespace === "string" ? [{ kind, namespace, name }] : [];
    }),
  );
  return [...new Map(sources.map((source) => [sourceKey(source), source])).values()];
}

/**
 * Whether a change may require a reconcile. Changes of labels, unknown annotations or only the status do not.
 */
export function isMeaningfulChange(old: ClusterObject, next: ClusterObject): boolean {
  const { metadata: before, spec } = old;
  const { metadata: after } = next;
  return (
    before.uid !== after.uid ||
    before.generation !== after.generation ||
    spec !== next.spec ||
    before.deletionTimestamp !== after.deletionTimestamp ||
    !sameJson(ownAnnotations(before), ownAnnotations(after)) ||
    // Only the removal of wafsync's own finalizer matters.
    (before.finalizers?.includes(instanceFinalizer) === true && after.finalizers?.includes(instanceFinalizer) !== true)
  );
}

/** Sorted by name. */
function ownAnnotations({ annotations = {} }: KubeObjectMeta): [string, string | undefined][] {
  const names = Object.keys(annotations).filter((name) => name.startsWith(`${apiGroup}/`));
  return names.toSorted().map((name) => [name, annotations[name]]);
}

export type ParsedObject<T> =
  | { readonly ok: true; readonly declared: T }
  /** `problem` says, in one or more sentences, which field is wrong, why, and what to write instead. */
  | { readonly ok: false; readonly problem: string };

type AnyParsed = ParsedObject<DeclaredByKind[ResourceKind]>;

const faultsShownMax = 5;

const parsedObjects = new WeakMap<ClusterObject, AnyParsed>();
const parsedSpecs = new WeakMap<object, DeclaredByKind[ResourceKind]>();

/** The declaration of the object, with all defaults; or why it is invalid for this version of wafsync. */
export function parseObject<Kind extends ResourceKind = ResourceKind>(
  object: ClusterObject,
): ParsedObject<DeclaredByKind[Kind]> {
  const known = parsedObjects.get(object);
  const parsed = known ?? parseAnew(object);
  if (known === undefined) parsedObjects.set(object, parsed);
  return parsed as ParsedObject<DeclaredByKind[Kind]>;
}

/** The declaration of a WafInstance; undefined if it does not exist or is invalid. */
export function parseInstance(object: ClusterObject | undefined): DeclaredInstance | undefined {
  const parsed = object === undefined ? undefined : parseObject<"WafInstance">(object);
  return parsed?.ok === true ? parsed.declared : undefined;
}

/** The metadata of an object, even if its spec is invalid. */
export function metaOfObject({ kind, metadata }: ClusterObject): ResourceMeta {
  const approver = approverIn(metadata.managedFields);
  return { ...toResourceMeta(kind, metadata), ...(approver !== undefined && { approver }) };
}

function parseAnew(object: ClusterObject): AnyParsed {
  const { spec } = object;
  const isKeyed = typeof spec === "object" && spec !== null;
  const former = isKeyed ? parsedSpecs.get(spec) : undefined;
  const meta = metaOfObject(object);
  if (former !== undefined) return { ok: true, declared: { ...former, meta } };
  const parsed = parseResource(object, "");
  if (!parsed.ok) return { ok: false, problem: describeFaults(parsed.faults) };
  const declared = toDeclared(parsed.value);
  if (isKeyed) parsedSpecs.set(spec, declared);
  return { ok: true, declared: { ...declared, meta } };
}

function describeFaults(faults: readonly ResourceFault[]): string {
  const shown = faults
    .slice(0, faultsShownMax)
    .map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  const more = faults.length > faultsShownMax ? `; and ${faults.length - faultsShownMax} more` : "";
  return `${shown.join("; ")}${more}`;
}

// The field manager of an object's field, from `metadata.managedFields`: the program, not the user. Clients can choose any
// name, so this is only informational, never for decisions.
const managerLengthMax = 128;

/** Who set the approval annotation. */
function approverIn(managedFields: readonly unknown[] | undefined): FieldSetter | undefined {
  return setterOf(managedFields, "metadata", "annotations", approvalAnnotation);
}

/** The last one that set this field of the object, such as `spec`; undefined if not recorded. */
export function setterOf(
  managedFields: readonly unknown[] | undefined,
  ...path: readonly string[]
): FieldSetter | undefined {
  let last: FieldSetter | undefined;
  for (const entry of managedFields ?? []) {
    if (!isRecord(entry)) continue;
    const { manager, time, fieldsV1 } = entry;
    const field = path.reduce((fields: unknown, name) => isRecord(fields) && fields[`f:${name}`], fieldsV1);
    if (!isRecord(field) || typeof manager !== "string" || manager === "" || typeof time !== "string") continue;
    if (last === undefined || last.time <= time) last = { manager: manager.slice(0, managerLengthMax), time };
  }
  return last;
}
