// Reads one YAML document: the kinds of wafsync, the Secrets, ConfigMaps and Namespaces that they need, and lists of these.
// All other Kubernetes objects are ignored.
import { isOurs, parseResource } from "../../api/parse-resource.ts";
import type { CustomResource } from "../../api/custom-resource.ts";
import { nearestName } from "../../api/nearest-name.ts";
import { type ResourceFault, resourceFault } from "../../api/resource-fault.ts";
import { toDeclared } from "../../api/to-declared.ts";
import { isRecord } from "../../model/record.ts";
import { type ObjectName, resourceKinds } from "../../model/resource.ts";
import { type DirectoryItem, type ReferenceLines, defaultNamespace } from "./directory-item.ts";
import { coreKinds, readConfigMap, readNamespace, readSecret, type ReadCoreObject } from "./core-objects.ts";
import { sourceFault, sourceNote, placeText } from "./source-fault.ts";
import type { RemovalScope, SourceFault } from "./source-fault.ts";
import type { YamlDocument } from "./yaml-documents.ts";

const listItemsMax = 10_000;
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
  if (!Array.isArray(list) || list.length > listItemsMax) {
    const message = Array.isArray(list) ? `has more than ${listItemsMax} items: split it` : "must be a list of objects";
    return {
      items: [],
      faults: [faultAt({ file, document, segments: [] }, resourceFault(["items"], message), "All")],
    };
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
