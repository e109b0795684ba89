// Parses the parts of Secrets, ConfigMaps and Namespaces that wafsync needs. Strict, because a misspelt field would hide an API
// key or a list of addresses. Messages never quote a value.
import { namespaceLengthMax } from "../../model/resource.ts";
import { type ParsedMetadata, parseMetadata } from "../../api/parse-metadata.ts";
import { type ResourceFault, nameOfValue, resourceFault, unknownFieldFault } from "../../api/resource-fault.ts";
import { withoutNulls } from "../../api/without-nulls.ts";
import { ApiKey } from "../../model/api-key.ts";
import { type CoreObject, defaultNamespace } from "./directory-item.ts";

export const coreKinds = ["Secret", "ConfigMap", "Namespace"] as const;

export type ReadCoreObject =
  | { readonly ok: true; readonly object: CoreObject }
  | { readonly ok: false; readonly faults: readonly ResourceFault[] };

type Mapping = Readonly<Record<string, unknown>>;

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
