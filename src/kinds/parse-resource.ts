// Parses a document, from a file or from the API server, into a custom resource with all defaults, or returns all its faults.
// Where possible, the result matches admission. Entries in `addresses` are not validated here: an invalid entry is reported on
// its rule and affects nothing else.
import * as z from "zod";
import { isRecord } from "../model/record.ts";
import { type ResourceKind, resourceKinds } from "../model/resource.ts";
import { counted } from "../model/texts.ts";
import { type CustomResource, kindDefinitions } from "./custom-resource.ts";
import type { KindDefinition } from "./kind-definition.ts";
import { apiGroup, apiVersion } from "./kinds.ts";
import { type ObjectMetadata, parseMetadata } from "./parse-metadata.ts";
import { type CheckedValue, checkValue, type ResourceFault, resourceFault } from "./resource-fault.ts";
import { withoutNulls } from "./without-nulls.ts";

/** The namespace of documents without one, as in kubectl. */
export const defaultNamespace = "default";

/** Further faults are only counted. */
const faultsMax = 50;
/** Its metadata, spec and status depend on the kind, or are validated apart. */
const documentSchema = z.strictObject({
  apiVersion: z.literal(apiVersion),
  kind: z.enum(resourceKinds),
  metadata: z.unknown(),
  spec: z.unknown(),
  status: z.unknown().optional(),
});

/** Parses one document. Never throws. `namespace` is for documents without one. */
export function parseResource(given: unknown, namespace = defaultNamespace): CheckedValue<CustomResource> {
  const document = withoutNulls(given);
  // Missing ones have faults of their own.
  const whole = isRecord(document) ? { metadata: undefined, spec: undefined, ...document } : document;
  const parsed = checkValue(documentSchema, [], whole);
  const faults = parsed.ok ? [] : [...parsed.faults];
  if (!isRecord(document)) return failed(faults);
  const metadata = parseMetadata(document["metadata"], namespace);
  if (!metadata.ok) faults.push(...metadata.faults);
  const kind = knownKind(document["kind"]);
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

function knownKind(found: unknown): ResourceKind | undefined {
  return resourceKinds.find((kind) => kind === found);
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
