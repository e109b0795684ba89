// Reads one YAML document: the kinds of wafsync, the Secrets, ConfigMaps and Namespaces that they need, and lists of these.
// All other Kubernetes objects are ignored. Strict, because a misspelled field would hide an API key or a list of addresses. Messages never
// quote a value.
import type { CustomResource } from "../../kinds/custom-resource.ts";
import { nearestName } from "../../kinds/nearest-name.ts";
import { type ParsedMetadata, parseMetadata } from "../../kinds/parse-metadata.ts";
import { isOurs, parseResource } from "../../kinds/parse-resource.ts";
import { nameOfValue, type ResourceFault, resourceFault, unknownFieldFault } from "../../kinds/resource-fault.ts";
import { type DeclaredByKind, toDeclared } from "../../kinds/to-declared.ts";
import { withoutNulls } from "../../kinds/without-nulls.ts";
import { ApiKey } from "../../model/api-key.ts";
import { isRecord } from "../../model/record.ts";
import { namespaceLengthMax, type ObjectName, type ResourceKind, resourceKinds } from "../../model/resource.ts";
import { placeText, type RemovalScope, sourceFault, type SourceFault, sourceNote } from "./source-fault.ts";
import type { YamlDocument } from "./yaml-documents.ts";

/** Kinds of the core API that may be in the same files and that wafsync ignores. */
const otherCoreKinds = [
  "Endpoints",
  "Event",
  "LimitRange",
  "Node",
  "PersistentVolume",
  "PersistentVolumeClaim",
  "Pod",
  "PodTemplate",
  "ReplicationController",
  "ResourceQuota",
  "Service",
  "ServiceAccount",
];

export interface ReadDocument {
  readonly items: readonly DirectoryItem[];
  readonly faults: readonly SourceFault[];
}

type Mapping = Readonly<Record<string, unknown>>;

interface Place {
  readonly file: string;
  readonly document: YamlDocument;
  /** The path of the object within its document: empty unless it is an item of a List. */
  readonly segments: readonly (string | number)[];
}

/** What one document declares, and its faults. Never throws, and never quotes a Secret. */
export function readDocument(document: YamlDocument, file: string): ReadDocument {
  const { value } = document;
  if (!isRecord(value)) {
    const message =
      "must be an object with apiVersion, kind and metadata; if this is not a Kubernetes object, move the file elsewhere";
    return { items: [], faults: [sourceFault(file, message, { line: document.line })] };
  }
  if (!isList(value)) return readObject(value, { file, document, segments: [] });
  const list = value["items"] ?? [];
  if (!Array.isArray(list)) {
    const place = { file, document, segments: [] };
    return { items: [], faults: [faultAt(place, resourceFault(["items"], "must be a list of objects"), "All")] };
  }
  const read = list.map((item: unknown, index) => {
    const place = { file, document, segments: ["items", index] };
    if (isRecord(item)) return readObject(item, place);
    return { items: [], faults: [faultAt(place, resourceFault([], "must be a Kubernetes object"), "All")] };
  });
  return { items: read.flatMap(({ items }) => items), faults: read.flatMap(({ faults }) => faults) };
}

function readObject(object: Mapping, place: Place): ReadDocument {
  const { apiVersion, kind } = object;
  if (isKustomization(object, place.file)) return { items: [], faults: [] };
  if (kind === "Secret" && isCore(apiVersion)) return readCore(place, readSecret(object));
  if (kind === "ConfigMap" && isCore(apiVersion)) return readCore(place, readConfigMap(object));
  if (kind === "Namespace" && isCore(apiVersion)) return readCore(place, readNamespace(object));
  if (isOurs(object) || looksLikeOurs(object)) return readResource(object, place);
  return readForeign(object, place);
}

function readResource(object: Mapping, place: Place): ReadDocument {
  const parsed = parseResource(withoutServerFields(object), { defaultNamespace });
  const faults = parsed.ok ? faultsOfFile(parsed.resource) : parsed.faults;
  if (!parsed.ok || faults.length > 0) {
    const scope = scopeOf(object, faults);
    return { items: [], faults: faults.map((fault) => faultAt(place, fault, scope)) };
  }
  return { items: [declaredItem(parsed.resource, place)], faults: [] };
}

/** Faults of objects that are valid in a cluster but can't work in a file. */
function faultsOfFile(resource: CustomResource): ResourceFault[] {
  if (resource.kind !== "WafIpRule" || resource.spec.ttl === undefined) return [];
  const message =
    'counts from the creation of the rule, and an object in a file has no creation time: write expiresAt instead, for example expiresAt: "2030-12-31T18:00:00Z"';
  return [resourceFault(["spec", "ttl"], message)];
}

function declaredItem(resource: CustomResource, place: Place): DirectoryItem {
  const { file } = place;
  const { kind, metadata } = resource;
  const line = place.document.lineOf(place.segments);
  const name: ObjectName = { namespace: metadata.namespace, name: metadata.name };
  const declared = toDeclared(resource, placeText(file, line));
  return { kind, name, file, line, declared, lines: referenceLines(resource, place) } as DirectoryItem;
}

function referenceLines(resource: CustomResource, { document, segments }: Place): ReferenceLines {
  const addresses = resource.kind === "WafIpRule" ? resource.spec.addresses : [];
  return {
    instanceRef: document.lineOf([...segments, "spec", "instanceRef"]),
    addresses: addresses.map((_, index) => document.lineOf([...segments, "spec", "addresses", index])),
  };
}

function readCore(place: Place, read: ReadCoreObject): ReadDocument {
  if (!read.ok) return { items: [], faults: read.faults.map((fault) => faultAt(place, fault, "All")) };
  const { document, segments, file } = place;
  const keys = read.object.kind === "ConfigMap" ? Object.keys(read.object.data) : [];
  const textLines = new Map(
    keys.map((key) => {
      const at = [...segments, "data", key];
      return [key, { key: document.lineOf(at), first: document.blockLineOf(at) }];
    }),
  );
  return { items: [{ ...read.object, file, line: document.lineOf(segments), textLines }], faults: [] };
}

/** Ignores objects of other kinds with a note. An object that is probably a misspelled wafsync kind is a fault. */
function readForeign(object: Mapping, place: Place): ReadDocument {
  const { apiVersion, kind } = object;
  const fail = (field: string, message: string): ReadDocument => ({
    items: [],
    faults: [faultAt(place, resourceFault([field], message), scopeOf(object, []))],
  });
  const note = (message: string): ReadDocument => ({
    items: [],
    faults: [sourceNote(place.file, place.document.lineOf(place.segments), message)],
  });
  if (!["apiVersion", "kind", "metadata", "spec"].some((field) => field in object)) {
    return note("ignored: not a Kubernetes object");
  }
  if (typeof kind !== "string") {
    return fail("kind", `is missing: write one of ${[...resourceKinds, ...coreKinds].join(", ")}`);
  }
  if (coreKinds.some((known) => known === kind) && !textOf(apiVersion).includes("/")) {
    return fail("apiVersion", "must be v1 for this kind");
  }
  if (typeof apiVersion !== "string") return fail("apiVersion", "is missing");
  if (apiVersion === "v1" && !otherCoreKinds.includes(kind)) {
    const known = [...resourceKinds, ...coreKinds, "List"];
    const meant = nearestName(kind, known);
    return fail(
      "kind",
      `unknown kind; ${meant === undefined ? `known are ${known.join(", ")}` : `did you mean ${meant}?`}`,
    );
  }
  return note(`ignored: wafsync does not use objects of kind ${kind.slice(0, 63)}`);
}

function faultAt(place: Place, fault: ResourceFault, blocksRemovals: RemovalScope): SourceFault {
  const segments = [...place.segments, ...fault.segments];
  return sourceFault(place.file, fault.message, {
    line: place.document.lineOf(segments),
    field: resourceFault(segments, "").path || undefined,
    blocksRemovals,
  });
}

/** The instance that an invalid object refers to; all instances if the reference itself may be wrong. */
function scopeOf(object: Mapping, faults: readonly ResourceFault[]): RemovalScope {
  const doubtful = ["kind", "metadata.namespace", "metadata.name", "metadata", "spec", "spec.instanceRef"];
  if (faults.some(({ path }) => doubtful.includes(path) || path.startsWith("spec.instanceRef."))) return "All";
  const metadata = isRecord(object["metadata"]) ? object["metadata"] : {};
  const spec = isRecord(object["spec"]) ? object["spec"] : {};
  const reference = isRecord(spec["instanceRef"]) ? spec["instanceRef"] : undefined;
  const name = object["kind"] === "WafInstance" ? metadata["name"] : reference?.["name"];
  const namespace = reference?.["namespace"] ?? metadata["namespace"] ?? defaultNamespace;
  return typeof name === "string" && typeof namespace === "string" ? { namespace, name } : "All";
}

/** Removes the fields that an API server sets on exported objects. In a file, objects are identified only by name and have no age. */
function withoutServerFields(object: Mapping): Mapping {
  const { status: _status, ...rest } = object;
  if (!isRecord(rest["metadata"])) return rest;
  const { uid: _uid, resourceVersion: _version, generation: _generation, ...metadata } = rest["metadata"];
  const { creationTimestamp: _created, deletionTimestamp: _deleted, ...kept } = metadata;
  return { ...rest, metadata: kept };
}

function looksLikeOurs({ apiVersion, kind }: Mapping): boolean {
  const group = textOf(apiVersion).split("/")[0] ?? "";
  if (nearestName(group, ["wafsync.dev"]) !== undefined) return true;
  return typeof kind === "string" && (/^waf/i.test(kind) || nearestName(kind, resourceKinds) !== undefined);
}

function isCore(apiVersion: unknown): boolean {
  return apiVersion === "v1";
}

function isList({ apiVersion, kind }: Mapping): boolean {
  if (kind === "List") return apiVersion === "v1" || apiVersion === undefined;
  return resourceKinds.some((known) => kind === `${known}List`) || coreKinds.some((known) => kind === `${known}List`);
}

/** Kustomize allows its own file to omit the kind. */
function isKustomization({ apiVersion, kind }: Mapping, file: string): boolean {
  if (kind === undefined) return /(?:^|\/)kustomization\.ya?ml$/i.test(file);
  return (kind === "Kustomization" || kind === "Component") && !textOf(apiVersion).startsWith("wafsync.dev/");
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export const coreKinds = ["Secret", "ConfigMap", "Namespace"] as const;

export type ReadCoreObject =
  | { readonly ok: true; readonly object: CoreObject }
  | { readonly ok: false; readonly faults: readonly ResourceFault[] };

/** `data` is base64, `stringData` is plain text and takes precedence, as in Kubernetes. */
export function readSecret(object: Mapping): ReadCoreObject {
  const faults = unknownFields(object, ["type", "data", "stringData", "immutable"]);
  const metadata = metadataOf(object);
  if (!metadata.ok) faults.push(...metadata.faults);
  const data = new Map<string, ApiKey>();
  for (const [key, text] of stringEntries(object, "data", faults)) {
    const decoded = decodeBase64(text);
    if (decoded.ok) data.set(key, new ApiKey(decoded.text));
    else faults.push(resourceFault(["data", key], decoded.message));
  }
  for (const [key, text] of stringEntries(object, "stringData", faults)) data.set(key, new ApiKey(text));
  if (!metadata.ok || faults.length > 0) return { ok: false, faults };
  const { namespace, name } = metadata.metadata;
  return { ok: true, object: { kind: "Secret", name: { namespace, name }, data } };
}

export function readConfigMap(object: Mapping): ReadCoreObject {
  const faults = unknownFields(object, ["data", "binaryData", "immutable"]);
  const metadata = metadataOf(object);
  if (!metadata.ok) faults.push(...metadata.faults);
  const data = Object.fromEntries(stringEntries(object, "data", faults));
  if (!metadata.ok || faults.length > 0) return { ok: false, faults };
  const { namespace, name } = metadata.metadata;
  return { ok: true, object: { kind: "ConfigMap", name: { namespace, name }, data } };
}

/** A Namespace has no namespace: its own name is used instead. */
export function readNamespace(object: Mapping): ReadCoreObject {
  const metadata = metadataOf(object);
  if (!metadata.ok) return metadata;
  const { name, labels } = metadata.metadata;
  if (name.length > namespaceLengthMax) {
    const message = `must have at most ${namespaceLengthMax} characters`;
    return { ok: false, faults: [resourceFault(["metadata", "name"], message)] };
  }
  return { ok: true, object: { kind: "Namespace", name: { namespace: name, name }, labels } };
}

/** `kubectl create --dry-run` writes `creationTimestamp: null`: a null field is treated as absent, as in the API server. */
function metadataOf(object: Mapping): ParsedMetadata {
  return parseMetadata(withoutNulls(object["metadata"]), defaultNamespace);
}

function unknownFields(object: Mapping, fields: readonly string[]): ResourceFault[] {
  const known = ["apiVersion", "kind", "metadata", ...fields];
  return Object.keys(object)
    .filter((field) => !known.includes(field))
    .map((field) => unknownFieldFault([], field, known));
}

function stringEntries(object: Mapping, field: string, faults: ResourceFault[]): [string, string][] {
  const value = object[field] ?? {};
  if (typeof value !== "object" || Array.isArray(value)) {
    faults.push(resourceFault([field], `must be a map of strings, but is ${nameOfValue(value)}`));
    return [];
  }
  const entries: [string, string][] = [];
  for (const [key, text] of Object.entries(value)) {
    if (typeof text === "string") entries.push([key, text]);
    else if (text === null) entries.push([key, ""]);
    else faults.push(resourceFault([field, key], `must be a string, but is ${nameOfValue(text)}: put it in quotes`));
  }
  return entries;
}

type DecodedText = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly message: string };

function decodeBase64(encoded: string): DecodedText {
  const compact = encoded.replaceAll(/\s/g, "");
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(compact)) {
    return { ok: false, message: "is not base64: encode it, or write the plain text below stringData" };
  }
  try {
    return { ok: true, text: new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(compact, "base64")) };
  } catch {
    return { ok: false, message: "contains base64 data that is not UTF-8 text" };
  }
}

/** The namespace of documents without one, as in kubectl. */
export const defaultNamespace = "default";

export type CoreObject =
  | { readonly kind: "ConfigMap"; readonly name: ObjectName; readonly data: Readonly<Record<string, string>> }
  /** Every value is wrapped as an API key, so that none is printed by accident. */
  | { readonly kind: "Secret"; readonly name: ObjectName; readonly data: ReadonlyMap<string, ApiKey> }
  | { readonly kind: "Namespace"; readonly name: ObjectName; readonly labels: Readonly<Record<string, string>> };

interface Placed {
  readonly name: ObjectName;
  readonly file: string;
  readonly line: number;
}

/** Line numbers for messages, which the declaration itself does not contain. */
export interface ReferenceLines {
  /** The line of `spec.instanceRef`. */
  readonly instanceRef: number;
  /** The lines of the items of `spec.addresses`. */
  readonly addresses: readonly number[];
}

/** The lines of a ConfigMap value: that of its key, and its first one if it is written as a block. */
export interface TextLines {
  readonly key: number;
  readonly first: number | undefined;
}

type DeclaredItem = {
  [Kind in ResourceKind]: Placed & {
    readonly kind: Kind;
    readonly declared: DeclaredByKind[Kind];
    readonly lines: ReferenceLines;
  };
}[ResourceKind];

export type DirectoryItem =
  | DeclaredItem
  | (Placed & CoreObject & { readonly textLines: ReadonlyMap<string, TextLines> });
