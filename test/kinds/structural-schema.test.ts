import { describe, expect, test } from "@jest/globals";
import { customResourceDefinition, objectSchema } from "../../src/kinds/custom-resource-definition.ts";
import { kindDefinitions, servedDefinitions } from "../../src/kinds/custom-resource.ts";
import { validationsKey } from "../../src/kinds/schema-rules.ts";
import type { StructuralSchema } from "../../src/kinds/structural-schema.ts";
import { resourceKinds } from "../../src/model/resource.ts";

interface PlacedSchema {
  readonly path: string;
  readonly schema: StructuralSchema;
  /** How many of these values one object can contain. */
  readonly placesMax: number;
}

function walk(path: string, schema: StructuralSchema, placesMax = 1): PlacedSchema[] {
  const nodes = [{ path, schema, placesMax }];
  for (const [name, child] of Object.entries(schema.properties ?? {})) {
    nodes.push(...walk(`${path}.${name}`, child, placesMax));
  }
  if (schema.items !== undefined) {
    nodes.push(...walk(`${path}[]`, schema.items, placesMax * (schema.maxItems ?? Number.POSITIVE_INFINITY)));
  }
  return nodes;
}

const ruleCostMax = 10_000_000;
const versionCostMax = 100_000_000;

/**
 * Far above the API server's estimate for rules without loops: one step for each letter of the rule, and one pass over the value
 * for each function, times the length of a regular expression.
 */
function costBound({ schema, placesMax }: PlacedSchema, rule: string): number {
  const passes = (rule.match(/\(/g) ?? []).length + 1;
  const patternLength = Math.max(
    0,
    ...[...rule.matchAll(/matches\('([^']*)'\)/g)].map(([, pattern]) => pattern!.length),
  );
  const letters = 4 * (schema.maxLength ?? 64);
  return placesMax * (rule.length + passes * 0.1 * letters * Math.max(1, 0.25 * patternLength));
}

const forbidden = ["anyOf", "oneOf", "allOf", "not", "$ref", "pattern", "uniqueItems", "nullable", "definitions"];

describe.each(servedDefinitions)("the schema of $kind", (definition) => {
  const nodes = walk(definition.kind, objectSchema(definition));
  const rules = nodes.flatMap((node) =>
    (node.schema[validationsKey] ?? []).map(({ rule, message }) => ({ node, rule, message })),
  );

  test("has a type at every node, and nothing that structural schemas forbid", () => {
    for (const { path, schema } of nodes) {
      expect([path, schema.type]).toStrictEqual([
        path,
        expect.stringMatching(/^(object|array|string|integer|boolean)$/),
      ]);
      expect([path, forbidden.filter((key) => key in schema)]).toStrictEqual([path, []]);
      expect([path, schema.type === "array"]).toStrictEqual([path, schema.items !== undefined]);
      expect(schema.properties === undefined || schema.additionalProperties === undefined).toBe(true);
    }
  });

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

  test("keeps every rule, and all of them together, far below the cost budget", () => {
    const costs = rules.map(({ node, rule }) => costBound(node, rule));
    expect(Math.max(0, ...costs)).toBeLessThan(ruleCostMax);
    expect(costs.reduce((sum, cost) => sum + cost, 0)).toBeLessThan(versionCostMax);
  });

  test("uses the previous object only where the API server can identify it", () => {
    const transitions = rules.filter(({ rule }) => rule.includes("oldSelf")).map(({ node }) => node.path);
    expect(transitions.filter((path) => path.includes("[]"))).toStrictEqual([]);
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
  const { spec } = customResourceDefinition(record!) as { spec: { names: object; versions: object[] } };
  expect(spec.names).not.toHaveProperty("categories");
  expect(spec.versions[0]).not.toHaveProperty("subresources");
});

test("lists of addresses are atomic, 10,000 items of 43 characters, with rules on the items and none on the list", () => {
  const addresses = objectSchema(kindDefinitions.WafIpRule).properties?.["spec"]?.properties?.["addresses"];
  expect(addresses).toMatchObject({ maxItems: 10_000, "x-kubernetes-list-type": "atomic", items: { maxLength: 43 } });
  expect(addresses?.[validationsKey]).toBeUndefined();
  expect(addresses?.items?.[validationsKey]).toHaveLength(2);
});
