// Generates the CustomResourceDefinitions from the schemas of the kinds.
import type { ServedDefinition } from "./kind-definition.ts";
import { apiGroup, apiVersionName, category, pluralOf, recordKind } from "./kinds.ts";
import { type CelRule, validationsKey } from "./schema-rules.ts";
import { type StructuralSchema, structuralSchema } from "./structural-schema.ts";

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

/** Returns a CustomResourceDefinition as plain data. Its keys are in the order in which they are written. */
export function customResourceDefinition(definition: ServedDefinition): Record<string, unknown> {
  const { kind, shortName, selectableFields = [] } = definition;
  const plural = pluralOf(kind);
  // A list of declared objects should not contain records.
  const categories = kind === recordKind ? {} : { categories: [category] };
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
