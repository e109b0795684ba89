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
/** `pattern` comes from zod's own check of times, which the API server replaces with `format`; the other keys are redundant. */
const dropped = new Set(["pattern", "propertyNames", "$schema"]);

/** Returns the structural schema of the schema's input. Throws if the zod schema uses something that a CRD cannot express. */
export function structuralSchema(schema: z.ZodType): StructuralSchema {
  return structuralNode(z.toJSONSchema(schema, { io: "input", target: "openapi-3.0" }), "");
}

function structuralNode(node: Readonly<Record<string, unknown>>, path: string): StructuralSchema {
  if (!types.has(node["type"])) throw new TypeError(`The schema at ${path || "its root"} has no type.`);
  for (const key of Object.keys(node)) {
    if (!dropped.has(key) && !(keyOrder as readonly string[]).includes(key)) {
      throw new TypeError(`The schema at ${path || "its root"} uses ${key}, which CRDs do not support.`);
    }
  }
  const result: Record<string, unknown> = {};
  for (const key of keyOrder) {
    const value = structuralValue(key, node, path);
    if (value !== undefined) result[key] = value;
  }
  return result as unknown as StructuralSchema;
}

function structuralValue(
  key: (typeof keyOrder)[number],
  node: Readonly<Record<string, unknown>>,
  path: string,
): unknown {
  const value = node[key];
  if (value === undefined) return undefined;
  switch (key) {
    case "properties":
      return mapValues(value as Record<string, Record<string, unknown>>, (child, name) =>
        structuralNode(child, `${path}.${name}`),
      );
    case "items":
      return structuralNode(value as Record<string, unknown>, `${path}[]`);
    case "additionalProperties":
      return value === false || value === true
        ? undefined
        : structuralNode(value as Record<string, unknown>, `${path}[]`);
    case "minimum":
    case "maximum":
      return Math.abs(value as number) === Number.MAX_SAFE_INTEGER ? undefined : value;
    default:
      return value;
  }
}

function mapValues<Value, Result>(
  record: Readonly<Record<string, Value>>,
  change: (value: Value, name: string) => Result,
): Record<string, Result> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value, name)]));
}

/** Returns the schema at a path of field names and list positions, or undefined if the path does not exist. */
export function schemaAt(schema: StructuralSchema, segments: readonly PropertyKey[]): StructuralSchema | undefined {
  let node: StructuralSchema | undefined = schema;
  for (const segment of segments) {
    if (node === undefined) return undefined;
    node = typeof segment === "number" ? node.items : (node.properties?.[String(segment)] ?? node.additionalProperties);
  }
  return node;
}
