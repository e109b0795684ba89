// Declared resources for tests: fields that a test does not set have simple defaults.
import { createHash } from "node:crypto";
import {
  type DeclaredCacheClear,
  type DeclaredInstance,
  type DeclaredOrigin,
  type DeclaredRule,
  emptyRule,
  type Grant,
  type ListName,
  type ListSettings,
} from "../../../src/model/declared.ts";
import { wafInstanceSpec } from "../../../src/kinds/waf-instance.ts";
import type { FeedSource, TextSource } from "../../../src/model/address-source.ts";
import type { AddressText, GatheredRule } from "../../../src/model/gathered.ts";
import { type ResourceKind, type ResourceMeta, guestKinds, nameOfKey } from "../../../src/model/resource.ts";

/** The default creation time of a test's objects: an hour before the start of a virtual clock. */
export const createdMs = Date.UTC(2026, 0, 1) - 3_600_000;

export const instanceName = { namespace: "edge", name: "shop" } as const;

export type MetaOverrides = Partial<Omit<ResourceMeta, "kind" | "namespace" | "name">>;

/** The default namespace is `edge`. Objects with the same kind and name have the same UID. */
export function aMeta(kind: ResourceKind, name: string, overrides: MetaOverrides = {}): ResourceMeta {
  const slash = name.indexOf("/");
  const namespace = slash === -1 ? instanceName.namespace : name.slice(0, slash);
  return {
    kind,
    namespace,
    name: name.slice(slash + 1),
    uid: createHash("sha256").update(`${kind} ${namespace}/${name}`).digest("hex").slice(0, 8),
    generation: 1,
    createdAtMs: createdMs,
    annotations: {},
    deleting: false,
    location: "",
    ...overrides,
  };
}

export interface InstanceOverrides extends Partial<Omit<DeclaredInstance, "meta" | "policies" | "lists" | "guards">> {
  readonly name?: string;
  readonly meta?: MetaOverrides;
  readonly policies?: Partial<DeclaredInstance["policies"]>;
  readonly lists?: Partial<Record<ListName, Partial<ListSettings>>>;
  readonly guards?: Partial<DeclaredInstance["guards"]>;
}

/** Grants all kinds and actions to all namespaces. */
export const openGrant: Grant = {
  namespaces: { from: "All" },
  kinds: guestKinds,
  actions: ["Block", "Allow"],
  maxEntries: 1_000_000,
  maxPriority: 1_000_000,
  minPrefixLength: { ipv4: 0, ipv6: 0 },
  maxTtlMs: undefined,
  adopt: true,
  cacheClearMinIntervalMs: 0,
};

/** The default grant of a guest. */
export function aGrant(overrides: Partial<Grant> = {}): Grant {
  return {
    namespaces: { from: "All" },
    kinds: ["WafIpRule"],
    actions: ["Block"],
    maxEntries: 500,
    maxPriority: 0,
    minPrefixLength: { ipv4: 24, ipv6: 48 },
    maxTtlMs: undefined,
    adopt: false,
    cacheClearMinIntervalMs: 600_000,
    ...overrides,
  };
}

export function anInstance(overrides: InstanceOverrides = {}): DeclaredInstance {
  const { name, meta, policies, lists, guards, ...rest } = overrides;
  return {
    meta: aMeta("WafInstance", name ?? `${instanceName.namespace}/${instanceName.name}`, meta),
    baseUrl: "https://waf.example",
    apiKeySecretRef: { name: "shop-key", key: "apiKey" },
    expectedDomain: undefined,
    access: [openGrant],
    suspend: false,
    resyncIntervalMs: 300_000,
    consistencyWindowMs: 5_000,
    requestTimeoutMs: 10_000,
    minRequestIntervalMs: 0,
    policies: { blocklist: "Additive", allowlist: "Additive", origins: "Additive", ...policies },
    lists: {
      blocklist: { maxEntries: undefined, ...lists?.blocklist },
      allowlist: { maxEntries: undefined, ...lists?.allowlist },
    },
    guards: { ...wafInstanceSpec.shape.guards.parse({}), ...guards },
    removalWindowMs: 3_600_000,
    cacheClear: { afterRolloutOf: [], minIntervalMs: 60_000 },
    logs: { enabled: false, intervalMs: 300_000, lookbackMs: 172_800_000, plan: undefined, output: "Stdout" },
    deletionPolicy: "Delete",
    ...rest,
  };
}

export interface RuleOverrides extends Partial<Omit<DeclaredRule, "meta">> {
  readonly meta?: MetaOverrides;
  /** The contents of its ConfigMaps. A string is the text of a ConfigMap that could be read. */
  readonly texts?: readonly (string | AddressText)[];
}

/** `name` is `namespace/name`, or a name in the namespace of the instance. */
export function aRule(name: string, overrides: RuleOverrides = {}): GatheredRule {
  const { meta, texts = [], ...rest } = overrides;
  return {
    rule: {
      meta: aMeta("WafIpRule", name, meta),
      instance: instanceName,
      action: "Block",
      ...emptyRule,
      ...rest,
    },
    texts: texts.map((text, index) =>
      typeof text === "string" ? { state: "Read", source: mapSource(`edge/list-${index}`), text } : text,
    ),
  };
}

/** The key `list` of a ConfigMap. */
export function mapSource(name: string): TextSource {
  return { kind: "ConfigMap", ...nameOfKey(name), key: "list" };
}

export function feedSource(name: string): FeedSource {
  return { kind: "WafFeed", ...nameOfKey(name) };
}

/** A Block rule of these addresses. */
export function blocking(name: string, addresses: readonly string[], overrides: RuleOverrides = {}): GatheredRule {
  return aRule(name, { ...overrides, action: "Block", addresses });
}

/** An Allow rule of these addresses. */
export function allowing(name: string, addresses: readonly string[], overrides: RuleOverrides = {}): GatheredRule {
  return aRule(name, { ...overrides, action: "Allow", addresses });
}

export interface OriginOverrides extends Partial<Omit<DeclaredOrigin, "meta" | "host">> {
  readonly name?: string;
  readonly meta?: MetaOverrides;
}

/** By default, the name of the object is its host. */
export function anOrigin(host: string, overrides: OriginOverrides = {}): DeclaredOrigin {
  const { name, meta, ...rest } = overrides;
  return {
    meta: aMeta("WafOrigin", name ?? host, meta),
    instance: instanceName,
    host,
    type: "Alternate",
    deletionPolicy: "Delete",
    ...rest,
  };
}

export interface CacheClearOverrides extends Partial<Omit<DeclaredCacheClear, "meta">> {
  readonly meta?: MetaOverrides;
}

export function aCacheClear(name: string, overrides: CacheClearOverrides = {}): DeclaredCacheClear {
  const { meta, ...rest } = overrides;
  return {
    meta: aMeta("WafCacheClear", name, meta),
    instance: instanceName,
    trigger: undefined,
    suspend: false,
    backoffLimit: 3,
    activeDeadlineMs: 300_000,
    ttlAfterFinishedMs: undefined,
    ...rest,
  };
}

/** `count` addresses in 198.18.0.0/15, the network for benchmarks, starting with number `from`. */
export function addresses(count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, index) => {
    const number = from + index;
    return `198.${18 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`;
  });
}
