// Documents of all kinds that users declare, valid unless a test changes them.
import type { ResourceKind } from "../../../src/model/resource.ts";

export interface TestDocument {
  readonly apiVersion: string;
  readonly kind: ResourceKind;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

function documentOf(kind: ResourceKind, spec: Readonly<Record<string, unknown>>): TestDocument {
  return { apiVersion: "wafsync.dev/v1alpha1", kind, metadata: { name: "example" }, spec };
}

const instanceRef = { name: "shop" };

export function instanceDocument(spec: Readonly<Record<string, unknown>> = {}): TestDocument {
  return documentOf("WafInstance", { baseUrl: "https://waf.example.com", apiKeySecretRef: { name: "key" }, ...spec });
}

export function ruleDocument(spec: Readonly<Record<string, unknown>> = {}): TestDocument {
  return documentOf("WafIpRule", { instanceRef, action: "Block", ...spec });
}

export function originDocument(spec: Readonly<Record<string, unknown>> = {}): TestDocument {
  return documentOf("WafOrigin", { instanceRef, host: "origin.example.com", type: "Alternate", ...spec });
}

export function cacheClearDocument(spec: Readonly<Record<string, unknown>> = {}): TestDocument {
  return documentOf("WafCacheClear", { instanceRef, ...spec });
}

export function autoBlockDocument(spec: Readonly<Record<string, unknown>> = {}): TestDocument {
  return documentOf("WafAutoBlock", { instanceRef, ...spec });
}

export function feedDocument(spec: Readonly<Record<string, unknown>> = {}): TestDocument {
  return documentOf("WafFeed", { http: { url: "https://lists.example.com/drop.txt" }, ...spec });
}

export function crowdsecDocument(crowdsec: Readonly<Record<string, unknown>> = {}): TestDocument {
  const needed = { url: "https://crowdsec.example.com:8080", apiKeySecretRef: { name: "crowdsec" } };
  return documentOf("WafFeed", { crowdsec: { ...needed, ...crowdsec } });
}
