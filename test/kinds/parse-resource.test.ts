import { describe, expect, test } from "@jest/globals";
import { isOurs, parseResource } from "../../src/kinds/parse-resource.ts";
import { faultyCases, validDocuments } from "./document-cases.ts";
import { documentOf } from "./documents.ts";

function faultsOf(document: unknown): string[] {
  const parsed = parseResource(document);
  return parsed.ok ? [] : parsed.faults.map(({ path, message }) => `${path}: ${message}`).sort();
}

function specOf(document: unknown): unknown {
  const parsed = parseResource(document);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
  return parsed.value.spec;
}

describe("a faulty document is rejected with a message that says what to write", () => {
  test.each(faultyCases)("for $title", ({ document, faults }) => {
    expect(faultsOf(document)).toStrictEqual([...faults].sort());
  });
});

describe("a valid document becomes a resource:", () => {
  test.each(validDocuments)("%s", (_, document) => {
    expect(faultsOf(document)).toStrictEqual([]);
  });
});

test("a rule has every default filled in", () => {
  expect(specOf(documentOf("WafIpRule"))).toStrictEqual({
    instanceRef: { name: "shop" },
    action: "Block",
    addresses: [],
    addressesFrom: [],
    except: [],
    aggregate: false,
    priority: 0,
    description: "",
    deletionPolicy: "Delete",
  });
});

test("addresses are not validated here, even if they are invalid", () => {
  const addresses = ["not an address", "198.51.100.7/24", "x".repeat(100), ""];
  expect(specOf(documentOf("WafIpRule", { addresses }))).toMatchObject({ addresses });
});

test("a document without a namespace gets the default one", () => {
  const parsed = parseResource(documentOf("WafOrigin"), "shop");
  expect(parsed).toMatchObject({ ok: true, value: { metadata: { namespace: "shop", uid: "", generation: 1 } } });
});

test("an object of the API server parses, with its metadata and status", () => {
  const parsed = parseResource({
    ...documentOf("WafIpRule", { ttl: "2h" }),
    metadata: {
      name: "office",
      namespace: "shop",
      uid: "6d2c",
      resourceVersion: "812",
      generation: 3,
      creationTimestamp: "2026-11-21T10:00:00Z",
      deletionTimestamp: null,
      annotations: { "wafsync.dev/adopt": "true" },
      labels: null,
      managedFields: [{ manager: "kubectl" }],
      someFieldOfTheFuture: 1,
    },
    status: { observedGeneration: 2, progress: "1/2", fieldOfTheFuture: true, conditions: [] },
  });
  expect(parsed).toStrictEqual({
    ok: true,
    value: expect.objectContaining({
      metadata: {
        name: "office",
        namespace: "shop",
        uid: "6d2c",
        resourceVersion: "812",
        generation: 3,
        creationTimestamp: "2026-11-21T10:00:00Z",
        deletionTimestamp: undefined,
        annotations: { "wafsync.dev/adopt": "true" },
        labels: {},
        finalizers: [],
      },
      status: { observedGeneration: 2, progress: "1/2", conditions: [], rejected: [] },
    }),
  });
});

test("a status that can't be parsed counts as none", () => {
  const parsed = parseResource({ ...documentOf("WafIpRule"), status: { conditions: "all fine" } });
  expect(parsed).toMatchObject({ ok: true, value: { status: { observedGeneration: -1, conditions: [] } } });
});

describe("the parts around the spec are validated, too:", () => {
  const kinds = ["WafInstance", "WafIpRule", "WafOrigin", "WafAutoBlock", "WafCacheClear", "WafFeed"];
  const name = "write lower-case letters, digits, '-' and '.', with a letter or digit at both ends";
  const rule = documentOf("WafIpRule");
  const without = (field: string) => Object.fromEntries(Object.entries(rule).filter(([key]) => key !== field));
  test.each<[string, unknown, string[]]>([
    ["a list", [], [": must be an object with apiVersion, kind, metadata, spec, but is a list"]],
    ["nothing", null, [": must be an object with apiVersion, kind, metadata, spec, but is empty"]],
    [
      "a wrong version",
      { ...rule, apiVersion: "wafsync.dev/v1" },
      ['apiVersion: must be wafsync.dev/v1alpha1, but is "wafsync.dev/v1"'],
    ],
    ["no version", { ...rule, apiVersion: undefined }, ["apiVersion: is missing: write wafsync.dev/v1alpha1"]],
    [
      "a misspelled kind",
      { ...rule, kind: "WafIPRules" },
      [`kind: must be one of ${kinds.join(", ")}, but is "WafIPRules"; did you mean WafIpRule?`],
    ],
    [
      "a kind that is similar to no other",
      { ...rule, kind: "Firewall" },
      [`kind: must be one of ${kinds.join(", ")}, but is "Firewall"`],
    ],
    ["no kind", { ...rule, kind: undefined }, [`kind: is missing: write ${kinds.join(" or ")}`]],
    ["no metadata", without("metadata"), ["metadata: is missing: write an object with name"]],
    ["no name", { ...rule, metadata: {} }, ["metadata.name: is missing: write a string"]],
    ["a name in capitals", { ...rule, metadata: { name: "Office" } }, [`metadata.name: ${name}`]],
    [
      "a namespace with a dot",
      { ...rule, metadata: { name: "office", namespace: "a.b" } },
      ["metadata.namespace: write lower-case letters, digits and '-', with a letter or digit at both ends"],
    ],
    [
      "an annotation that is not a string",
      { ...rule, metadata: { name: "office", annotations: { "wafsync.dev/adopt": true } } },
      ['metadata.annotations["wafsync.dev/adopt"]: must be a string, but is true or false: put it in quotes'],
    ],
    [
      "a misspelled field of the metadata",
      { ...rule, metadata: { name: "office", anotations: {} } },
      ["metadata.anotations: unknown field; did you mean annotations?"],
    ],
    ["a misspelled field next to the spec", { ...rule, specs: {} }, ["specs: unknown field; did you mean spec?"]],
    ["no spec", without("spec"), ["spec: is missing: write an object with instanceRef, action"]],
    [
      "faults everywhere, all reported together",
      { apiVersion: "v1", kind: "WafOrigin", metadata: { name: "A" }, spec: { instanceRef: {}, hots: "x", type: 1 } },
      [
        'apiVersion: must be wafsync.dev/v1alpha1, but is "v1"',
        `metadata.name: ${name}`,
        "spec.instanceRef.name: is missing: write a string",
        "spec.host: is missing: write a string",
        "spec.type: must be one of Alternate, Backup, but is a number",
        "spec.hots: unknown field; did you mean host?",
      ],
    ],
  ])("%s", (_, document, faults) => {
    expect(faultsOf(document)).toStrictEqual([...faults].sort());
  });
});

test("a fault contains the path to its position, so that the line can be found", () => {
  const parsed = parseResource(documentOf("WafIpRule", { addresses: ["192.0.2.1", 5] }));
  expect(parsed).toMatchObject({ ok: false, faults: [{ segments: ["spec", "addresses", 1] }] });
});

test("the fault list of a document with very many faults is truncated", () => {
  const faults = faultsOf(documentOf("WafIpRule", { addresses: Array.from({ length: 1000 }, () => 1) }));
  expect(faults).toHaveLength(51);
  expect(faults).toContain(": has 950 further faults");
});

test("a fault never repeats a URL, or a value in the place of a key", () => {
  const document = documentOf("WafInstance", {
    baseUrl: "https://waf.example.com/?api_key=hunter2",
    apiKeySecretRef: "hunter2",
    expectedDomain: ["hunter2"],
  });
  expect(faultsOf(document)).toHaveLength(3);
  expect(faultsOf(document).join("\n")).not.toContain("hunter2");
});

test.each<[string, unknown, boolean]>([
  ["a document of the group is", { apiVersion: "wafsync.dev/v9", kind: "Any" }, true],
  ["a document of a kind without the group is", { kind: "WafIpRule" }, true],
  ["a Secret is not", { apiVersion: "v1", kind: "Secret" }, false],
  ["a string is not", "WafIpRule", false],
])("%s an object of wafsync", (_, document, ours) => {
  expect(isOurs(document)).toBe(ours);
});
