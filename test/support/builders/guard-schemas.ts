// The guards of an instance as its schema has them, so that a guard that is added is seen by every test about guards.
import { objectSchema } from "../../../src/api/custom-resource-definition.ts";
import { kindDefinitions } from "../../../src/api/custom-resource.ts";
import type { StructuralSchema } from "../../../src/api/structural-schema.ts";
import { schemaAt } from "../../../src/api/structural-schema.ts";

const schemas: Readonly<Record<string, StructuralSchema>> =
  schemaAt(objectSchema(kindDefinitions.WafInstance), ["spec", "guards"])?.properties ?? {};

/** The fields below `spec.guards`, in the order of the schema. */
export const guardNames: readonly string[] = Object.keys(schemas);

/** Values at which a guard stands most in the way: both ends of its range, everything, and what can't be read. */
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
