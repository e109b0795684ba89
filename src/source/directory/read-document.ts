// Reads one YAML document: the kinds of wafsync, the Secrets, ConfigMaps and Namespaces that they need, and lists of these.
// All other Kubernetes objects are ignored. Strict, because a misspelled field would hide an API key or a list of addresses. Messages never
// quote a value.
import * as z from "zod";
import type { CustomResource } from "../../kinds/custom-resource.ts";
import { nearestName } from "../../kinds/nearest-name.ts";
import { parseMetadata } from "../../kinds/parse-metadata.ts";
import { defaultNamespace, isOurs, parseResource } from "../../kinds/parse-resource.ts";
import { checkValue, type ResourceFault, resourceFault, textOfMap } from "../../kinds/resource-fault.ts";
import { type DeclaredByKind, toDeclared } from "../../kinds/to-declared.ts";
import { withoutNulls } from "../../kinds/without-nulls.ts";
import { ApiKey } from "../../model/api-key.ts";
import { isRecord } from "../../model/record.ts";
import { type ObjectName, type ResourceKind, resourceKinds } from "../../model/resource.ts";
import { placeText, type RemovalScope, sourceFault, type SourceFault } from "./snapshot.ts";
import type { YamlDocument, YamlPlace } from "./yaml-documents.ts";
import { noteText } from "../../model/texts.ts";

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
  const place: Place = { file, document, segments: [] };
  if (!isRecord(value)) {
    const message =
      "must be an object with apiVersion, kind and metadata; if this is not a Kubernetes object, move the file elsewhere";
    return refused(place, [resourceFault([], message)]);
  }
  if (!isList(value)) return readObject(value, place);
  const list = value["items"] ?? [];
  if (!Array.isArray(list)) return refused(place, [resourceFault(["items"], "must be a list of objects")]);
  const read = list.map((item: unknown, index) => {
    const at = { ...place, segments: ["items", index] };
    return isRecord(item) ? readObject(item, at) : refused(at, [resourceFault([], "must be a Kubernetes object")]);
  });
  return { items: read.flatMap(({ items }) => items), faults: read.flatMap(({ faults }) => faults) };
}

/** @param blocksRemovals which instances the object may concern */
function refused(place: Place, faults: readonly ResourceFault[], blocksRemovals: RemovalScope = "All"): ReadDocument {
  const { file, document } = place;
  const located = faults.map(({ segments: inner, message }) => {
    const segments = [...place.segments, ...inner];
    const field = resourceFault(segments, "").path || undefined;
    return sourceFault(file, message, { line: document.at(segments).line, field, blocksRemovals });
  });
  return { items: [], faults: located };
}

function readObject(object: Mapping, place: Place): ReadDocument {
  const { apiVersion, kind } = object;
  if (isKustomization(object, place.file)) return { items: [], faults: [] };
  const coreKind = apiVersion === "v1" ? coreKinds.find((known) => known === kind) : undefined;
  if (coreKind !== undefined) return readCore(coreKind, object, place);
  if (isOurs(object) || looksLikeOurs(object)) return readResource(object, place);
  return readForeign(object, place);
}

function readResource(object: Mapping, place: Place): ReadDocument {
  const parsed = parseResource(withoutServerFields(object));
  const faults = parsed.ok ? faultsOfFile(parsed.value) : parsed.faults;
  if (!parsed.ok || faults.length > 0) return refused(place, faults, scopeOf(object, faults));
  return { items: [declaredItem(parsed.value, place)], faults: [] };
}

/** Faults of objects that are valid in a cluster but can't work in a file. */
function faultsOfFile(resource: CustomResource): ResourceFault[] {
  if (resource.kind !== "WafIpRule" || resource.spec.ttl === undefined) return [];
  const message =
    'counts from the creation of the rule, and an object in a file has no creation time: write expiresAt instead, for example expiresAt: "2030-12-31T18:00:00Z"';
  return [resourceFault(["spec", "ttl"], message)];
}

function declaredItem(resource: CustomResource, { file, document, segments }: Place): DirectoryItem {
  const { kind, metadata } = resource;
  const at = (...path: readonly (string | number)[]): YamlPlace => document.at([...segments, ...path]);
  const { line } = at();
  const name: ObjectName = { namespace: metadata.namespace, name: metadata.name };
  const declared = toDeclared(resource, placeText(file, line));
  const addresses = resource.kind === "WafIpRule" ? resource.spec.addresses : [];
  const places = addresses.map((_, index) => at("spec", "addresses", index));
  const notes = places.map(({ comment }) => noteText(comment));
  const noted = notes.some((note) => note !== "") ? { ...declared, notes } : declared;
  const lines = places.map((place) => place.line);
  return { kind, name, file, line, declared: noted, lines } as DirectoryItem;
}

/** Ignores objects of other kinds with a note. An object that is probably a misspelled wafsync kind is a fault. */
function readForeign(object: Mapping, place: Place): ReadDocument {
  const { apiVersion, kind } = object;
  const fail = (field: string, message: string): ReadDocument =>
    refused(place, [resourceFault([field], message)], scopeOf(object, []));
  const note = (message: string): ReadDocument => {
    const { line } = place.document.at(place.segments);
    return { items: [], faults: [sourceFault(place.file, message, { line, blocksRemovals: "None" })] };
  };
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
  const meant = apiVersion === "v1" ? nearestName(kind, [...resourceKinds, ...coreKinds, "List"]) : undefined;
  if (meant !== undefined) return fail("kind", `unknown kind; did you mean ${meant}?`);
  return note(`ignored: wafsync does not use objects of kind ${kind.slice(0, 63)}`);
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

/** The fields of the core kinds, apart from `apiVersion`, `kind` and `metadata`. Those of a Namespace are not checked. */
const coreSchemas = {
  /** `data` is base64, `stringData` is plain text and takes precedence, as in Kubernetes. */
  Secret: z.strictObject({
    type: z.string().optional(),
    data: z.record(z.string(), textOfMap.transform(decodeBase64)).default({}),
    stringData: z.record(z.string(), textOfMap).default({}),
    immutable: z.boolean().optional(),
  }),
  ConfigMap: z.strictObject({
    data: z.record(z.string(), textOfMap).default({}),
    binaryData: z.record(z.string(), textOfMap).default({}),
    immutable: z.boolean().optional(),
  }),
  Namespace: z.object({}),
};
export type CoreKind = keyof typeof coreSchemas;
const coreKinds = Object.keys(coreSchemas) as CoreKind[];

/** Reads null as the API server does: a field without a value, or an empty string in a map. `kubectl create --dry-run` writes it. */
function readCore(kind: CoreKind, object: Mapping, place: Place): ReadDocument {
  const { apiVersion: _version, kind: _kind, metadata, ...others } = object;
  const named = parseMetadata(withoutNulls(metadata), defaultNamespace);
  const fields = mapValues(others, (value) =>
    isRecord(value) ? mapValues(value, (text) => text ?? "") : (value ?? undefined),
  );
  const parsed = checkValue<object>(coreSchemas[kind], [], fields);
  if (!named.ok || !parsed.ok) {
    return refused(
      place,
      [named, parsed].flatMap((one) => (one.ok ? [] : one.faults)),
    );
  }
  const { file, document, segments } = place;
  const { namespace, name, labels } = named.value;
  const placed = { file, line: document.at(segments).line };
  if (kind === "Namespace") {
    // A Namespace has no namespace: its own name is used instead.
    return { items: [{ kind, name: { namespace: name, name }, labels, ...placed }], faults: [] };
  }
  const { data, stringData = {} } = parsed.value as {
    data: Readonly<Record<string, string>>;
    stringData?: typeof data;
  };
  const texts = Object.entries({ ...data, ...stringData }).map(([key, text]) => [key, new ApiKey(text)] as const);
  return { items: [{ kind, name: { namespace, name }, texts: new Map(texts), ...placed }], faults: [] };
}

function decodeBase64(encoded: string, context: z.RefinementCtx): string {
  const compact = encoded.replaceAll(/\s/g, "");
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(compact)) {
    context.addIssue("is not base64: encode it, or write the plain text below stringData");
    return z.NEVER;
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(compact, "base64"));
  } catch {
    context.addIssue("contains base64 data that is not UTF-8 text");
    return z.NEVER;
  }
}

function mapValues(map: Mapping, change: (value: unknown) => unknown): Mapping {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, change(value)]));
}

type ItemKind = ResourceKind | CoreKind;

export type ItemOf<Kind extends ItemKind> = {
  readonly kind: Kind;
  readonly name: ObjectName;
  readonly file: string;
  readonly line: number;
} & (Kind extends ResourceKind
  ? {
      readonly declared: DeclaredByKind[Kind];
      /** Those of the items of `spec.addresses`, for messages. */
      readonly lines: readonly number[];
    }
  : Kind extends "Namespace"
    ? { readonly labels: Readonly<Record<string, string>> }
    : {
        /** The values of a Secret or ConfigMap by key, wrapped so that they are never printed by accident. */
        readonly texts: ReadonlyMap<string, ApiKey>;
      });

export type DirectoryItem = { [Kind in ItemKind]: ItemOf<Kind> }[ItemKind];
