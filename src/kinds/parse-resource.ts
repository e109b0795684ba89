// Parses a document, from a file or from the API server, into a custom resource with all defaults, or returns all its faults.
// Where possible, the result matches admission. Entries in `addresses` are not validated here: an invalid entry is reported on
// its rule and affects nothing else.
import { isRecord } from "../model/record.ts";
import { type ResourceKind, resourceKinds } from "../model/resource.ts";
import { counted } from "../model/sentence.ts";
import { type CustomResource, kindDefinitions } from "./custom-resource.ts";
import type { KindDefinition } from "./kind-definition.ts";
import { apiGroup, apiVersion } from "./kinds.ts";
import { nearestName } from "./nearest-name.ts";
import { type ObjectMetadata, parseMetadata } from "./parse-metadata.ts";
import {
  type CheckedValue,
  checkValue,
  type ResourceFault,
  nameOfValue,
  quoted,
  resourceFault,
  unknownFieldFault,
} from "./resource-fault.ts";
import { withoutNulls } from "./without-nulls.ts";

/** The namespace of documents without one, as in kubectl. */
export const defaultNamespace = "default";

/** Further faults are only counted. */
const faultsMax = 50;
const documentFields = ["apiVersion", "kind", "metadata", "spec", "status"] as const;

/** Parses one document. Never throws. `namespace` is for documents without one. */
export function parseResource(given: unknown, namespace = defaultNamespace): CheckedValue<CustomResource> {
  const document = withoutNulls(given);
  if (!isRecord(document)) {
    const message = `must be an object with apiVersion, kind, metadata and spec, but is ${nameOfValue(document)}`;
    return failed([resourceFault([], message)]);
  }
  const faults = [...apiVersionFaults(document["apiVersion"]), ...unknownFields(document)];
  const kind = knownKind(document["kind"]);
  if (kind === undefined) faults.push(kindFault(document["kind"]));
  const metadata = parseMetadata(document["metadata"], namespace);
  if (!metadata.ok) faults.push(...metadata.faults);
  if (kind === undefined) return failed(faults);
  const definition = kindDefinitions[kind];
  if (metadata.ok) faults.push(...nameFaults(definition, metadata.value));
  const spec = checkValue<unknown>(definition.spec, ["spec"], document["spec"]);
  if (!spec.ok) faults.push(...spec.faults);
  if (!metadata.ok || !spec.ok || faults.length > 0) return failed(faults);
  const status = parseStatus(definition, document["status"]);
  const value = { apiVersion, kind, metadata: metadata.value, spec: spec.value, status } as CustomResource;
  return { ok: true, value };
}

function failed(faults: readonly ResourceFault[]): CheckedValue<CustomResource> {
  if (faults.length <= faultsMax) return { ok: false, faults };
  const rest = resourceFault([], `has ${counted(faults.length - faultsMax, "further fault", "further faults")}`);
  return { ok: false, faults: [...faults.slice(0, faultsMax), rest] };
}

/** Whether a document is meant for wafsync, even if its version or kind does not exist. */
export function isOurs(document: unknown): boolean {
  if (!isRecord(document)) return false;
  const { apiVersion: found, kind } = document;
  const group = typeof found === "string" ? found.split("/")[0]?.toLowerCase() : undefined;
  return group === apiGroup || knownKind(kind) !== undefined;
}

function apiVersionFaults(found: unknown): ResourceFault[] {
  if (found === apiVersion) return [];
  const segments = ["apiVersion"];
  if (found === undefined) return [resourceFault(segments, `is missing: write ${apiVersion}`)];
  if (typeof found !== "string") return [resourceFault(segments, `must be a string: write ${apiVersion}`)];
  return [resourceFault(segments, `must be ${apiVersion}, but is ${quoted(found)}`)];
}

function knownKind(found: unknown): ResourceKind | undefined {
  return resourceKinds.find((kind) => kind === found);
}

function kindFault(found: unknown): ResourceFault {
  const segments = ["kind"];
  const options = resourceKinds.join(", ");
  if (found === undefined) return resourceFault(segments, `is missing: write one of ${options}`);
  if (typeof found !== "string") return resourceFault(segments, `must be one of ${options}`);
  const meant = nearestName(found, resourceKinds);
  const hint = meant === undefined ? `the known kinds are ${options}` : `did you mean ${meant}?`;
  return resourceFault(segments, `unknown kind ${quoted(found)}; ${hint}`);
}

function unknownFields(document: Readonly<Record<string, unknown>>): ResourceFault[] {
  return Object.keys(document)
    .filter((field) => !(documentFields as readonly string[]).includes(field))
    .map((field) => unknownFieldFault([], field, documentFields));
}

function nameFaults(definition: KindDefinition, metadata: ObjectMetadata): ResourceFault[] {
  return (definition.nameRules ?? [])
    .filter(({ holds }) => holds !== "AdmissionOnly" && !holds({ metadata }))
    .map(({ message }) => resourceFault(["metadata", "name"], message));
}

/** An unreadable status is treated as missing: a status is only a report, and wafsync writes it again. */
function parseStatus(definition: KindDefinition, found: unknown): CustomResource["status"] {
  const status = definition.status.safeParse(found);
  return (status.success ? status.data : definition.status.parse(undefined)) as CustomResource["status"];
}
