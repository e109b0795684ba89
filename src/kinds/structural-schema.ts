// Converts a zod schema into the structural schema of a CRD: every node has a type, nothing that the API server forbids remains,
// and keys have a fixed order. CEL rules in the schemas express what a structural schema cannot.
import * as z from "zod";
import { type CelRule, validationsKey } from "./schema-rules.ts";

/** The part of OpenAPI that our CRDs use. */
export interface StructuralSchema {
  readonly type: "object" | "array" | "string" | "integer" | "boolean";
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: StructuralSchema;
  readonly properties?: Readonly<Record<string, StructuralSchema>>;
  readonly additionalProperties?: StructuralSchema;
  readonly required?: readonly string[];
  readonly [validationsKey]?: readonly CelRule[];
  readonly "x-kubernetes-list-type"?: "atomic" | "map";
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
}

const types = new Set<unknown>(["object", "array", "string", "integer", "boolean"]);
const keyOrder = [
  "description",
  "type",
  "format",
  "enum",
  "default",
  "minimum",
  "maximum",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "x-kubernetes-list-type",
  "x-kubernetes-list-map-keys",
  "required",
  "properties",
  "additionalProperties",
  "items",
  validationsKey,
] as const;
/** `pattern` comes from zod's own check of times, which the API server replaces with `format`; `propertyNames` is redundant. */
const dropped = new Set(["pattern", "propertyNames"]);

/** Returns the structural schema of the schema's input. Throws if the zod schema uses something that a CRD cannot express. */
export function structuralSchema(schema: z.ZodType): StructuralSchema {
  const options = { io: "input", target: "openapi-3.0", override: makeStructural } as const;
  return z.toJSONSchema(schema, options) as unknown as StructuralSchema;
}

function makeStructural(made: { readonly jsonSchema: object; readonly path: readonly PropertyKey[] }): void {
  const node = made.jsonSchema as Record<string, unknown>;
  const place = made.path.join(".") || "its root";
  if (!types.has(node["type"])) throw new TypeError(`The schema at ${place} has no type.`);
  const { ...found } = node;
  for (const key of Object.keys(found)) {
    if (!dropped.has(key) && !(keyOrder as readonly string[]).includes(key)) {
      throw new TypeError(`The schema at ${place} uses ${key}, which CRDs do not support.`);
    }
    Reflect.deleteProperty(node, key);
  }
  for (const key of keyOrder) {
    const value = found[key];
    // zod writes these for integers without a limit, and for objects without a schema for further fields.
    const isNoLimit = typeof value === "number" && Math.abs(value) === Number.MAX_SAFE_INTEGER;
    const isNoSchema = key === "additionalProperties" && typeof value === "boolean";
    if (value !== undefined && !isNoLimit && !isNoSchema) node[key] = value;
  }
}
