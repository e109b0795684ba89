// Documents of all kinds that users declare, valid unless a test changes them.
import type { ResourceKind } from "../../src/model/resource.ts";

export type Spec = Readonly<Record<string, unknown>>;

export interface TestDocument {
  readonly apiVersion: string;
  readonly kind: ResourceKind;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec: Spec;
}

const instanceRef = { name: "shop" };

/** The smallest valid spec of each kind. */
const smallest: Readonly<Record<ResourceKind, Spec>> = {
  WafInstance: { baseUrl: "https://waf.example.com", apiKeySecretRef: { name: "key" } },
  WafIpRule: { instanceRef, action: "Block" },
  WafOrigin: { instanceRef, host: "origin.example.com", type: "Alternate" },
  WafCacheClear: { instanceRef },
  WafFeed: { http: { url: "https://lists.example.com/drop.txt" } },
  WafAutoBlock: { instanceRef },
};

export function documentOf(kind: ResourceKind, spec: Spec = {}): TestDocument {
  const metadata = { name: "example" };
  return { apiVersion: "wafsync.dev/v1alpha1", kind, metadata, spec: { ...smallest[kind], ...spec } };
}
