// Parses stored objects into declarations, each of them once. The same object gives the same result, and another
// version with the same spec gives the same parts, in particular the same lists of addresses.
import type { CustomResource } from "../../api/custom-resource.ts";
import { parseMetadata } from "../../api/parse-metadata.ts";
import { parseResource } from "../../api/parse-resource.ts";
import type { ResourceFault } from "../../api/resource-fault.ts";
import { type DeclaredByKind, toDeclared, toResourceMeta } from "../../api/to-declared.ts";
import type { DeclaredInstance, GuestKind } from "../../model/declared.ts";
import { type ResourceKind, resourceKey, type ResourceMeta } from "../../model/resource.ts";
import type { AttachedObjects, Parsed } from "../gather.ts";
import type { ClusterObject } from "./cluster-object.ts";
import { storedSetter } from "./managed-fields.ts";

export type ParsedObject<T> =
  | { readonly ok: true; readonly declared: T }
  /** `problem` says, in one or more sentences, which field is wrong, why, and what to write instead. */
  | { readonly ok: false; readonly problem: string };

type AnyParsed = ParsedObject<DeclaredByKind[ResourceKind]>;

const faultsShownMax = 5;

const parsedObjects = new WeakMap<ClusterObject, AnyParsed>();
const parsedSpecs = new WeakMap<object, DeclaredByKind[ResourceKind]>();

/** The declaration of the object, with all defaults; or why it is invalid for this version of wafsync. */
export function parseObject<Kind extends ResourceKind>(
  kind: Kind,
  object: ClusterObject,
): ParsedObject<DeclaredByKind[Kind]> {
  const known = parsedObjects.get(object);
  const parsed = known ?? parseAnew(kind, object);
  if (known === undefined) parsedObjects.set(object, parsed);
  return parsed as ParsedObject<DeclaredByKind[Kind]>;
}

/** What the objects of each kind declare. */
export function attachedObjects(objectsOf: (kind: GuestKind) => readonly ClusterObject[]): AttachedObjects {
  const parsed = <Kind extends GuestKind>(kind: Kind): Parsed<DeclaredByKind[Kind]>[] =>
    objectsOf(kind).map((object) => {
      const one = parseObject(kind, object);
      if (one.ok) return one;
      const key = resourceKey(metaOfObject(kind, object));
      return { ok: false, key, problem: `${key} is invalid: ${one.problem}` };
    });
  return {
    WafIpRule: parsed("WafIpRule"),
    WafOrigin: parsed("WafOrigin"),
    WafCacheClear: parsed("WafCacheClear"),
    WafAutoBlock: parsed("WafAutoBlock"),
  };
}

/** The declaration of a WafInstance; undefined if it does not exist or is invalid. */
export function parseInstance(object: ClusterObject | undefined): DeclaredInstance | undefined {
  const parsed = object === undefined ? undefined : parseObject("WafInstance", object);
  return parsed?.ok === true ? parsed.declared : undefined;
}

/** The metadata of an object, even if its spec is invalid. */
export function metaOfObject(kind: ResourceKind, object: ClusterObject): ResourceMeta {
  const parsed = parseMetadata(object.metadata, "");
  if (parsed.ok) return toResourceMeta({ kind, metadata: parsed.metadata } as CustomResource);
  const { namespace = "", name, uid, generation = 1, annotations = {}, deletionTimestamp } = object.metadata;
  const deleting = deletionTimestamp !== undefined;
  return { kind, namespace, name, uid, generation, annotations, deleting, createdAtMs: undefined, location: "" };
}

function parseAnew(kind: ResourceKind, object: ClusterObject): AnyParsed {
  const { spec } = object;
  const isKeyed = typeof spec === "object" && spec !== null;
  const former = isKeyed ? parsedSpecs.get(spec) : undefined;
  if (former !== undefined) {
    return { ok: true, declared: { ...former, meta: withApprover(metaOfObject(kind, object), object) } };
  }
  const parsed = parseResource(object, { defaultNamespace: "" });
  if (!parsed.ok) return { ok: false, problem: describeFaults(parsed.faults) };
  const declared = toDeclared(parsed.resource);
  if (isKeyed) parsedSpecs.set(spec, declared);
  return { ok: true, declared: { ...declared, meta: withApprover(declared.meta, object) } };
}

function withApprover(meta: ResourceMeta, { metadata }: ClusterObject): ResourceMeta {
  const approver = storedSetter(metadata.managedFields);
  return approver === undefined ? meta : { ...meta, approver };
}

function describeFaults(faults: readonly ResourceFault[]): string {
  const shown = faults
    .slice(0, faultsShownMax)
    .map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  const more = faults.length > faultsShownMax ? `; and ${faults.length - faultsShownMax} more` : "";
  return `${shown.join("; ")}${more}`;
}
