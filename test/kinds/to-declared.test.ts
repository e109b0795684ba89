import { describe, expect, test } from "@jest/globals";
import type { CustomResource } from "../../src/kinds/custom-resource.ts";
import { parseResource } from "../../src/kinds/parse-resource.ts";
import { toDeclared } from "../../src/kinds/to-declared.ts";
import type { ResourceKind } from "../../src/model/resource.ts";
import { documentOf } from "./documents.ts";

function resourceOf<Kind extends ResourceKind>(document: unknown, kind: Kind): Extract<CustomResource, { kind: Kind }> {
  const parsed = parseResource(document, "shop");
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
  expect(parsed.value.kind).toBe(kind);
  return parsed.value as Extract<CustomResource, { kind: Kind }>;
}

describe("the metadata", () => {
  test("of a document in a directory contains its location, and defaults for fields that only an API server sets", () => {
    expect(toDeclared(resourceOf(documentOf("WafIpRule"), "WafIpRule"), "rules/office.yaml:12").meta).toStrictEqual({
      kind: "WafIpRule",
      namespace: "shop",
      name: "example",
      uid: "",
      generation: 1,
      createdAtMs: undefined,
      annotations: {},
      deleting: false,
      location: "rules/office.yaml:12",
    });
  });

  test("of an object of the API server says when it was created, and whether it is being deleted", () => {
    const metadata = {
      name: "office",
      namespace: "platform",
      uid: "6d2c",
      generation: 3,
      creationTimestamp: "2026-11-21T10:00:00Z",
      deletionTimestamp: "2026-11-21T11:00:00Z",
      annotations: { "wafsync.dev/adopt": "true" },
    };
    expect(toDeclared(resourceOf({ ...documentOf("WafIpRule"), metadata }, "WafIpRule")).meta).toStrictEqual({
      kind: "WafIpRule",
      namespace: "platform",
      name: "office",
      uid: "6d2c",
      generation: 3,
      createdAtMs: Date.parse("2026-11-21T10:00:00Z"),
      annotations: { "wafsync.dev/adopt": "true" },
      deleting: true,
      location: "",
    });
  });
});

test("a workload without a namespace belongs to the namespace of the instance", () => {
  const afterRolloutOf = [
    { kind: "Deployment", name: "web" },
    { kind: "DaemonSet", name: "edge", namespace: "infra" },
  ];
  const declared = toDeclared(resourceOf(documentOf("WafInstance", { cacheClear: { afterRolloutOf } }), "WafInstance"));
  expect(declared.cacheClear.afterRolloutOf).toStrictEqual([
    { kind: "Deployment", name: "web", namespace: "shop" },
    { kind: "DaemonSet", name: "edge", namespace: "infra" },
  ]);
});

test("a selector is passed on with its missing lists filled in", () => {
  const selector = { matchExpressions: [{ key: "team", operator: "Exists" }] };
  const document = documentOf("WafInstance", { access: [{ namespaces: { from: "Selector", selector } }] });
  expect(toDeclared(resourceOf(document, "WafInstance")).access[0]?.namespaces).toStrictEqual({
    from: "Selector",
    selector: { matchLabels: {}, matchExpressions: [{ key: "team", operator: "Exists", values: [] }] },
  });
});

test("a grant gives few permissions by default", () => {
  const document = documentOf("WafInstance", { access: [{ namespaces: { names: ["team-a"] } }] });
  expect(toDeclared(resourceOf(document, "WafInstance")).access).toStrictEqual([
    {
      namespaces: { from: "Names", names: ["team-a"] },
      kinds: ["WafIpRule"],
      actions: ["Block"],
      maxEntries: 500,
      maxPriority: 0,
      minPrefixLength: { ipv4: 24, ipv6: 48 },
      maxTtlMs: undefined,
      adopt: false,
      cacheClearMinIntervalMs: 600_000,
    },
  ]);
});

describe("a base URL is normalized, regardless of its spelling", () => {
  test.each([
    ["https://waf.example.com/", "https://waf.example.com"],
    ["HTTPS://WAF.Example.com:443", "https://waf.example.com"],
    ["https://waf.example.com/Management/", "https://waf.example.com/Management"],
    ["http://127.0.0.1:8080", "http://127.0.0.1:8080"],
    ["http://[::1]:8080/", "http://[::1]:8080"],
  ])("%s", (baseUrl, canonical) => {
    const declared = toDeclared(resourceOf(documentOf("WafInstance", { baseUrl }), "WafInstance"));
    expect(declared.baseUrl).toBe(canonical);
  });
});

test("a rule declares its entries, its expiry in milliseconds, and the full name of its instance", () => {
  const document = documentOf("WafIpRule", {
    addresses: ["192.0.2.1"],
    addressesFrom: [
      { configMapKeyRef: { name: "list", key: "ips.txt" } },
      { secretKeyRef: { name: "partners", key: "ips.txt" } },
      { feedRef: { name: "threats" } },
      { feedRef: { name: "drop", namespace: "platform" } },
    ],
    except: ["192.0.2.1"],
    aggregate: true,
    expiresAt: "2030-01-31T18:00:00+01:00",
    priority: 7,
    deletionPolicy: "Retain",
  });
  expect(toDeclared(resourceOf(document, "WafIpRule"), "a.yaml:1")).toStrictEqual({
    meta: expect.objectContaining({ kind: "WafIpRule", location: "a.yaml:1" }),
    instance: { namespace: "shop", name: "shop" },
    action: "Block",
    addresses: ["192.0.2.1"],
    addressesFrom: [
      { kind: "ConfigMap", namespace: "shop", name: "list", key: "ips.txt" },
      { kind: "Secret", namespace: "shop", name: "partners", key: "ips.txt" },
    ],
    feeds: [
      { namespace: "shop", name: "threats" },
      { namespace: "platform", name: "drop" },
    ],
    except: ["192.0.2.1"],
    aggregate: true,
    expiresAtMs: Date.parse("2030-01-31T17:00:00Z"),
    ttlMs: undefined,
    priority: 7,
    deletionPolicy: "Retain",
  });
});

test("a rule declares its ttl in milliseconds, and the namespace of an instance in another namespace", () => {
  const document = documentOf("WafIpRule", { ttl: "2h", instanceRef: { name: "shop", namespace: "platform" } });
  expect(toDeclared(resourceOf(document, "WafIpRule"))).toMatchObject({
    ttlMs: 7_200_000,
    expiresAtMs: undefined,
    instance: { namespace: "platform", name: "shop" },
  });
});

test("an origin declares its host in lower case without a trailing dot", () => {
  const document = documentOf("WafOrigin", { host: "Origin.Example.COM.", type: "Backup" });
  expect(toDeclared(resourceOf(document, "WafOrigin"))).toStrictEqual({
    meta: expect.objectContaining({ kind: "WafOrigin" }),
    instance: { namespace: "shop", name: "shop" },
    host: "origin.example.com",
    type: "Backup",
    deletionPolicy: "Delete",
  });
});

test("a cache clear declares its limits in milliseconds", () => {
  const least = toDeclared(resourceOf(documentOf("WafCacheClear"), "WafCacheClear"));
  expect(least).toStrictEqual({
    meta: expect.objectContaining({ kind: "WafCacheClear" }),
    instance: { namespace: "shop", name: "shop" },
    trigger: undefined,
    suspend: false,
    backoffLimit: 3,
    activeDeadlineMs: 300_000,
    ttlAfterFinishedMs: undefined,
  });
  const full = documentOf("WafCacheClear", { trigger: "4f2a", suspend: true, ttlSecondsAfterFinished: 60 });
  expect(toDeclared(resourceOf(full, "WafCacheClear"))).toMatchObject({
    trigger: "4f2a",
    suspend: true,
    ttlAfterFinishedMs: 60_000,
  });
});

test("a feed of CrowdSec is fetched every minute, and may be empty", () => {
  const crowdsec = { url: "https://crowdsec.example.com:8080", apiKeySecretRef: { name: "crowdsec" } };
  expect(toDeclared(resourceOf(documentOf("WafFeed", { http: undefined, crowdsec }), "WafFeed"))).toMatchObject({
    source: {
      type: "Crowdsec",
      url: "https://crowdsec.example.com:8080",
      apiKeySecretRef: { name: "crowdsec", key: "apiKey" },
      types: ["ban"],
    },
    intervalMs: 60_000,
    guards: { minEntries: 0 },
  });
});
