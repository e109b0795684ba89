import { describe, expect, test } from "@jest/globals";
import { customResourceDefinition, objectSchema, type StructuralSchema } from "../../scripts/generate-crds.ts";
import { kindDefinitions, servedDefinitions } from "../../src/kinds/custom-resource.ts";
import { validationsKey } from "../../src/kinds/schema-rules.ts";
import { resourceKinds } from "../../src/model/resource.ts";

interface PlacedSchema {
  readonly path: string;
  readonly schema: StructuralSchema;
}

function walk(path: string, schema: StructuralSchema): PlacedSchema[] {
  const children = Object.entries(schema.properties ?? {}).flatMap(([name, child]) => walk(`${path}.${name}`, child));
  const items = schema.items === undefined ? [] : walk(`${path}[]`, schema.items);
  return [{ path, schema }, ...children, ...items];
}

describe.each(servedDefinitions)("the schema of $kind", (definition) => {
  const nodes = walk(definition.kind, objectSchema(definition));
  const rules = nodes.flatMap((node) =>
    (node.schema[validationsKey] ?? []).map(({ rule, message }) => ({ node, rule, message })),
  );

  test("describes every field", () => {
    const fields = nodes.filter(({ path }) => !path.endsWith("[]") && !path.endsWith(".metadata"));
    expect(fields.filter(({ schema }) => (schema.description ?? "") === "").map(({ path }) => path)).toStrictEqual([]);
  });

  test("bounds every list, and every string and list that a rule reads", () => {
    const lists = nodes.filter(({ schema }) => schema.type === "array" && schema.maxItems === undefined);
    expect(lists.map(({ path }) => path)).toStrictEqual([]);
    const texts = rules.filter(({ node }) => node.schema.type === "string" && node.schema.maxLength === undefined);
    expect(texts.map(({ node }) => node.path)).toStrictEqual([]);
  });

  test("gives every rule a one-line message that says what to write", () => {
    for (const { message } of rules) expect(message).toMatch(/^[^\n]{20,300}[^.\n]$/);
  });
});

test.each(resourceKinds)("the initial status of %s has observed no generation", (kind) => {
  const status = objectSchema(kindDefinitions[kind]).properties?.["status"];
  expect(status).toMatchObject({ default: { observedGeneration: -1 } });
  expect(status?.properties?.["observedGeneration"]).toMatchObject({ type: "integer", default: -1 });
  expect(status?.properties?.["conditions"]).toMatchObject({ "x-kubernetes-list-map-keys": ["type"] });
});

test("WafRecord has no status, and is not a kind that users declare", () => {
  const [record] = servedDefinitions.filter(({ kind }) => kind === "WafRecord");
  expect(Object.keys(objectSchema(record!).properties ?? {})).toStrictEqual(["apiVersion", "kind", "metadata", "spec"]);
  const { spec } = customResourceDefinition(record!);
  expect(spec.names).not.toHaveProperty("categories");
  expect(spec.versions[0]).not.toHaveProperty("subresources");
});
