// Generates the CustomResourceDefinitions from the schemas of the kinds. What a structural schema can't express is in their CEL rules.
import { stringify } from "yaml";
import * as z from "zod";
import { servedDefinitions } from "../src/kinds/custom-resource.ts";
import type { ServedDefinition } from "../src/kinds/kind-definition.ts";
import { apiGroup, apiVersionName, category, pluralOf, recordKind } from "../src/kinds/kinds.ts";
import { type CelRule, validationsKey } from "../src/kinds/schema-rules.ts";

export interface GeneratedFile {
  /** Relative to the project's folder, with forward slashes, for example `crds/wafinstances.yaml`. */
  readonly path: string;
  readonly text: string;
}

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
  readonly maxItems?: number;
  readonly items?: StructuralSchema;
  readonly properties?: Readonly<Record<string, StructuralSchema>>;
  readonly additionalProperties?: StructuralSchema;
  readonly required?: readonly string[];
  readonly [validationsKey]?: readonly CelRule[];
}

/** `pattern` comes from zod's own check of times, which the API server replaces with `format`; `propertyNames` is redundant. */
const dropped = ["pattern", "propertyNames"];

/** The schema of what users write. A real API server tests that it has nothing that a CRD does not support. */
export function structuralSchema(schema: z.ZodType): StructuralSchema {
  const made = z.toJSONSchema(schema, {
    io: "input",
    target: "openapi-3.0",
    override({ jsonSchema }) {
      for (const [key, value] of Object.entries(jsonSchema)) {
        // zod writes these for integers without a limit, and for objects without a schema for further fields.
        const isNoLimit = typeof value === "number" && Math.abs(value) === Number.MAX_SAFE_INTEGER;
        const isNoSchema = key === "additionalProperties" && typeof value === "boolean";
        if (dropped.includes(key) || isNoLimit || isNoSchema) Reflect.deleteProperty(jsonSchema, key);
      }
    },
  });
  return made as unknown as StructuralSchema;
}

/** The schema of a whole object, as the API server enforces it. */
export function objectSchema(definition: ServedDefinition): StructuralSchema {
  const nameRules: CelRule[] = (definition.nameRules ?? []).map(({ cel, message }) => ({ rule: cel, message }));
  return {
    description: definition.description,
    type: "object",
    required: ["spec"],
    properties: {
      apiVersion: {
        description: `The version of this representation: \`${apiGroup}/${apiVersionName}\`.`,
        type: "string",
      },
      kind: { description: `The kind of the object: \`${definition.kind}\`.`, type: "string" },
      metadata: { type: "object" },
      spec: structuralSchema(definition.spec),
      ...(definition.status !== undefined && { status: structuralSchema(definition.status) }),
    },
    ...(nameRules.length > 0 && { [validationsKey]: nameRules }),
  };
}

/** The name of a CRD, and its `spec`. */
export function customResourceDefinition(definition: ServedDefinition) {
  const { kind, shortName, selectableFields = [] } = definition;
  const plural = pluralOf(kind);
  // A list of declared objects should not contain records.
  const categories = kind === recordKind ? {} : { categories: [category] };
  return {
    name: `${plural}.${apiGroup}`,
    spec: {
      group: apiGroup,
      scope: "Namespaced",
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        shortNames: [shortName],
        ...categories,
      },
      versions: [
        {
          name: apiVersionName,
          served: true,
          storage: true,
          ...(definition.status !== undefined && { subresources: { status: {} } }),
          ...(selectableFields.length > 0 && { selectableFields: selectableFields.map((jsonPath) => ({ jsonPath })) }),
          additionalPrinterColumns: definition.printerColumns,
          schema: { openAPIV3Schema: objectSchema(definition) },
        },
      ],
    },
  };
}

/** As other generators of CRDs write them: sorted by key. */
export const crdStyle = { sortMapEntries: true, lineWidth: 100, aliasDuplicateObjects: false };

/** The CRDs, and the kustomization that installs them. */
export function crdFiles(): GeneratedFile[] {
  const header = "# Written by `npm run generate`. Edit the schemas in src/kinds instead.\n";
  const resources = servedDefinitions.map(({ kind }) => `${pluralOf(kind)}.yaml`);
  const files = servedDefinitions.map((served, index) => {
    const { name, spec } = customResourceDefinition(served);
    const labels = { "app.kubernetes.io/name": "wafsync", "app.kubernetes.io/part-of": "wafsync" };
    const head = {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name, labels },
    };
    return { path: `crds/${resources[index]}`, text: header + stringify({ ...head, spec }, crdStyle) };
  });
  const kustomization = { apiVersion: "kustomize.config.k8s.io/v1beta1", kind: "Kustomization", resources };
  return [...files, { path: "crds/kustomization.yaml", text: header + stringify(kustomization) }];
}
