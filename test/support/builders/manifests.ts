// Custom resources as users write them, for tests on an API server, which fills in the defaults.
import type { ResourceKind } from "../../../src/model/resource.ts";

export { addresses } from "./declare.ts";

export const apiVersion = "wafsync.dev/v1alpha1";

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

type Spec = Readonly<Record<string, unknown>>;

function custom(kind: ResourceKind, namespace: string, name: string, spec: Spec): Manifest {
  return { apiVersion, kind, metadata: { name, namespace }, spec };
}

/** A rule of the instance `waf` of the same namespace. */
export function rule(namespace: string, name: string, addresses: readonly string[], spec: Spec = {}): Manifest {
  return custom("WafIpRule", namespace, name, { instanceRef: { name: "waf" }, action: "Block", addresses, ...spec });
}

/** A backup origin of the instance `waf` of the same namespace. */
export function origin(namespace: string, name: string, host: string, spec: Spec = {}): Manifest {
  return custom("WafOrigin", namespace, name, { instanceRef: { name: "waf" }, host, type: "Backup", ...spec });
}

export function cacheClear(namespace: string, name: string, spec: Spec = {}): Manifest {
  return custom("WafCacheClear", namespace, name, { instanceRef: { name: "waf" }, ...spec });
}

/** Reads its API key from `keySecret`. */
export function instance(namespace: string, baseUrl: string, spec: Spec = {}): Manifest {
  return custom("WafInstance", namespace, "waf", { baseUrl, apiKeySecretRef: { name: "waf-key" }, ...spec });
}

export function keySecret(namespace: string, apiKey: string): Manifest {
  return { apiVersion: "v1", kind: "Secret", metadata: { name: "waf-key", namespace }, stringData: { apiKey } };
}

export function configMap(namespace: string, name: string, text: string, labels = {}): Manifest {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace, labels }, data: { "list.txt": text } };
}

/** The API server's collection for the manifest. */
export function collectionOf({ apiVersion, kind, metadata }: Manifest): string {
  const group = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return `${group}/namespaces/${metadata.namespace}/${kind.toLowerCase()}s`;
}
