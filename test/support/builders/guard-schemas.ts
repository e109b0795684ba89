// The guards in the schema of an instance, so that every test about guards also covers new guards.
import { objectSchema, type StructuralSchema } from "../../../scripts/generate-crds.ts";
import { kindDefinitions } from "../../../src/kinds/custom-resource.ts";

const schemas: Readonly<Record<string, StructuralSchema>> =
  objectSchema(kindDefinitions.WafInstance).properties?.["spec"]?.properties?.["guards"]?.properties ?? {};

/** The fields in `spec.guards`, in the order of the schema. */
export const guardNames: readonly string[] = Object.keys(schemas);

/** The most restrictive values of a guard: both ends of its range, everything, and invalid values. */
export function extremesOf(guard: string): readonly unknown[] {
  const schema = schemas[guard];
  return schema === undefined ? [] : extremes(schema);
}

function extremes(schema: StructuralSchema): readonly unknown[] {
  switch (schema.type) {
    case "integer":
      return [schema.minimum ?? 0, schema.maximum ?? Number.MAX_SAFE_INTEGER];
    case "boolean":
      return [true, false];
    case "string":
      return schema.enum ?? ["", "no address"];
    case "array":
      return [["no address"], ["0.0.0.0/0", "::/0"]];
    case "object": {
      const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => [name, extremes(field)] as const);
      return [0, -1].map((place) => Object.fromEntries(fields.map(([name, values]) => [name, values.at(place)])));
    }
  }
}
