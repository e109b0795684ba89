// The CustomResourceDefinitions, made from the schemas of the kinds.
import { type ResourceKind, resourceKinds } from "../model/resource.ts";
import { kindDefinitions } from "./custom-resource.ts";
import type { KindDefinition, PrinterColumn } from "./kind-definition.ts";
import { apiGroup, apiVersionName, category, kinds } from "./kinds.ts";
import { type CelRule, validationsKey } from "./schema-rules.ts";
import { type StructuralSchema, structuralSchema } from "./structural-schema.ts";

/** The schema of a whole object: what the API server lets through. */
export function objectSchema(definition: KindDefinition): StructuralSchema {
  const nameRules: CelRule[] = definition.nameRules.map(({ cel, message }) => ({ rule: cel, message }));
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
      status: structuralSchema(definition.status),
    },
    ...(nameRules.length > 0 && { [validationsKey]: nameRules }),
  };
}

/** One CustomResourceDefinition, as plain data in the order in which it is written. */
export function customResourceDefinition(kind: ResourceKind): Record<string, unknown> {
  const { plural, singular, shortName } = kinds[kind];
  const definition = kindDefinitions[kind];
  const { selectableFields } = definition;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: `${plural}.${apiGroup}`,
      labels: { "app.kubernetes.io/name": "wafsync", "app.kubernetes.io/part-of": "wafsync" },
    },
    spec: {
      group: apiGroup,
      scope: "Namespaced",
      names: { kind, listKind: `${kind}List`, plural, singular, shortNames: [shortName], categories: [category] },
      versions: [
        {
          name: apiVersionName,
          served: true,
          storage: true,
          subresources: { status: {} },
          ...(selectableFields.length > 0 && { selectableFields: selectableFields.map((jsonPath) => ({ jsonPath })) }),
          additionalPrinterColumns: definition.printerColumns.map(printerColumn),
          schema: { openAPIV3Schema: objectSchema(definition) },
        },
      ],
    },
  };
}

function printerColumn({ name, type, jsonPath, description, priority }: PrinterColumn): Record<string, unknown> {
  return { name, type, jsonPath, description, ...(priority !== undefined && { priority }) };
}

export const customResourceDefinitionFiles: readonly { readonly kind: ResourceKind; readonly file: string }[] =
  resourceKinds.map((kind) => ({ kind, file: `${kinds[kind].plural}.yaml` }));
