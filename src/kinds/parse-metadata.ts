// The `metadata` of a document. Fields that only the API server writes are accepted as they are. Unknown fields are errors only
// if they look like a typo, because Kubernetes may add fields.
import * as z from "zod";
import { labelPattern, nameLengthMax, namespaceLengthMax, subdomainPattern } from "../model/resource.ts";
import { nearestName } from "./nearest-name.ts";
import { isRecord } from "../model/record.ts";
import { checkValue, type CheckedValue, textOfMap, unknownFieldFault } from "./resource-fault.ts";

const nameMessage = "write lower-case letters, digits, '-' and '.', with a letter or digit at both ends";
const namespaceMessage = "write lower-case letters, digits and '-', with a letter or digit at both ends";

const metadataSchema = z.object({
  name: z.string().min(1).max(nameLengthMax).regex(new RegExp(subdomainPattern, "u"), nameMessage),
  namespace: z
    .string()
    .min(1)
    .max(namespaceLengthMax)
    .regex(new RegExp(labelPattern, "u"), namespaceMessage)
    .optional(),
  uid: z.string().default(""),
  resourceVersion: z.string().default(""),
  generation: z.int().default(1),
  creationTimestamp: z.string().optional(),
  deletionTimestamp: z.string().optional(),
  labels: z.record(z.string(), textOfMap).default({}),
  annotations: z.record(z.string(), textOfMap).default({}),
  finalizers: z.array(z.string()).default([]),
});

/** The fields of `metadata` that wafsync reads. Documents in a directory lack most of them. */
export type ObjectMetadata = Readonly<z.output<typeof metadataSchema>> & { readonly namespace: string };

/** Further fields that `metadata` may have. */
const otherFields = [
  "generateName",
  "selfLink",
  "deletionGracePeriodSeconds",
  "ownerReferences",
  "managedFields",
  "clusterName",
];
const knownFields = [...Object.keys(metadataSchema.shape), ...otherFields];

/** Reads `metadata`. `defaultNamespace` is for documents without a namespace. */
export function parseMetadata(found: unknown, defaultNamespace: string): CheckedValue<ObjectMetadata> {
  const base = ["metadata"];
  const faults = Object.keys(isRecord(found) ? found : {})
    .filter((field) => !knownFields.includes(field) && nearestName(field, knownFields) !== undefined)
    .map((field) => unknownFieldFault(base, field, knownFields));
  const parsed = checkValue(metadataSchema, base, found);
  if (!parsed.ok) faults.push(...parsed.faults);
  if (!parsed.ok || faults.length > 0) return { ok: false, faults };
  return { ok: true, value: { ...parsed.value, namespace: parsed.value.namespace ?? defaultNamespace } };
}
