// Converts custom resources into the neutral declarations from which plans are made.
import type {
  DeclaredCacheClear,
  DeclaredInstance,
  DeclaredOrigin,
  DeclaredRule,
  Grant,
  LogForwarding,
  WorkloadRef,
} from "../model/declared.ts";
import type { DeclaredAutoBlock } from "../model/auto-block.ts";
import type { AllowedNamespaces, DeclaredFeed, FeedFormat } from "../model/declared-feed.ts";
import type { ObjectName, ResourceKind, ResourceMeta } from "../model/resource.ts";
import type {
  CustomResource,
  WafAutoBlock,
  WafCacheClear,
  WafFeed,
  WafInstance,
  WafIpRule,
  WafOrigin,
} from "./custom-resource.ts";
import { parseDuration } from "./durations.ts";

/** The part of an object's metadata that wafsync needs. `location` is the file and line; empty in a cluster. */
export function toResourceMeta({ kind, metadata }: CustomResource, location = ""): ResourceMeta {
  const { name, namespace, uid, generation, creationTimestamp, annotations, deletionTimestamp } = metadata;
  const createdAtMs = creationTimestamp === undefined ? Number.NaN : Date.parse(creationTimestamp);
  return {
    kind,
    namespace,
    name,
    uid,
    generation,
    createdAtMs: Number.isNaN(createdAtMs) ? undefined : createdAtMs,
    annotations,
    deleting: deletionTimestamp !== undefined,
    location,
  };
}

export interface DeclaredByKind {
  readonly WafInstance: DeclaredInstance;
  readonly WafIpRule: DeclaredRule;
  readonly WafOrigin: DeclaredOrigin;
  readonly WafCacheClear: DeclaredCacheClear;
  readonly WafFeed: DeclaredFeed;
  readonly WafAutoBlock: DeclaredAutoBlock;
}

/** What a resource of any kind declares. */
export function toDeclared(resource: CustomResource, location = ""): DeclaredByKind[ResourceKind] {
  switch (resource.kind) {
    case "WafInstance":
      return toDeclaredInstance(resource, location);
    case "WafIpRule":
      return toDeclaredRule(resource, location);
    case "WafOrigin":
      return toDeclaredOrigin(resource, location);
    case "WafCacheClear":
      return toDeclaredCacheClear(resource, location);
    case "WafFeed":
      return toDeclaredFeed(resource, location);
    case "WafAutoBlock":
      return toDeclaredAutoBlock(resource, location);
  }
}

export function toDeclaredInstance(resource: WafInstance, location = ""): DeclaredInstance {
  const { spec } = resource;
  return {
    meta: toResourceMeta(resource, location),
    baseUrl: canonicalBaseUrl(spec.baseUrl),
    apiKeySecretRef: { name: spec.apiKeySecretRef.name, key: spec.apiKeySecretRef.key },
    expectedDomain: spec.expectedDomain,
    access: spec.access.map(grantOf),
    suspend: spec.suspend,
    resyncIntervalMs: spanMs(spec.resyncInterval),
    consistencyWindowMs: spanMs(spec.consistencyWindow),
    requestTimeoutMs: spanMs(spec.requestTimeout),
    minRequestIntervalMs: spanMs(spec.minRequestInterval),
    policies: { blocklist: spec.blocklist.policy, allowlist: spec.allowlist.policy, origins: spec.origins.policy },
    lists: {
      blocklist: { maxEntries: spec.blocklist.maxEntries },
      allowlist: { maxEntries: spec.allowlist.maxEntries },
    },
    guards: spec.guards,
    removalWindowMs: spanMs(spec.guards.window),
    cacheClear: {
      afterRolloutOf: spec.cacheClear.afterRolloutOf.map((ref) => workloadRef(ref, resource.metadata.namespace)),
      minIntervalMs: spanMs(spec.cacheClear.minInterval),
    },
    logs: logForwarding(spec.logs),
    deletionPolicy: spec.deletionPolicy,
  };
}

export function toDeclaredRule(resource: WafIpRule, location = ""): DeclaredRule {
  const { spec } = resource;
  return {
    meta: toResourceMeta(resource, location),
    instance: instanceName(resource),
    action: spec.action,
    addresses: spec.addresses,
    addressesFrom: spec.addressesFrom.flatMap(({ configMapKeyRef }) => configMapKeyRef ?? []),
    feeds: spec.addressesFrom.flatMap(({ feedRef }) =>
      feedRef === undefined ? [] : { namespace: feedRef.namespace ?? resource.metadata.namespace, name: feedRef.name },
    ),
    except: spec.except,
    aggregate: spec.aggregate,
    expiresAtMs: spec.expiresAt === undefined ? undefined : Date.parse(spec.expiresAt),
    ttlMs: spec.ttl === undefined ? undefined : spanMs(spec.ttl),
    priority: spec.priority,
    deletionPolicy: spec.deletionPolicy,
    ...(spec.description === "" ? {} : { description: spec.description }),
  };
}

export function toDeclaredOrigin(resource: WafOrigin, location = ""): DeclaredOrigin {
  const { spec } = resource;
  return {
    meta: toResourceMeta(resource, location),
    instance: instanceName(resource),
    host: spec.host.toLowerCase().replace(/\.$/u, ""),
    type: spec.type,
    deletionPolicy: spec.deletionPolicy,
  };
}

export function toDeclaredCacheClear(resource: WafCacheClear, location = ""): DeclaredCacheClear {
  const { spec } = resource;
  const { ttlSecondsAfterFinished } = spec;
  return {
    meta: toResourceMeta(resource, location),
    instance: instanceName(resource),
    trigger: spec.trigger,
    suspend: spec.suspend,
    backoffLimit: spec.backoffLimit,
    activeDeadlineMs: spec.activeDeadlineSeconds * 1000,
    ttlAfterFinishedMs: ttlSecondsAfterFinished === undefined ? undefined : ttlSecondsAfterFinished * 1000,
  };
}

export function toDeclaredAutoBlock(resource: WafAutoBlock, location = ""): DeclaredAutoBlock {
  const { spec } = resource;
  return {
    meta: toResourceMeta(resource, location),
    instance: instanceName(resource),
    mode: spec.mode,
    suspend: spec.suspend,
    match: spec.match,
    threshold: spec.threshold,
    windowMs: spanMs(spec.window),
    groupBy: spec.groupBy,
    networkPrefixLength: spec.networkPrefixLength,
    ttlMs: spanMs(spec.ttl),
    repeatFactor: spec.repeatFactor,
    maxTtlMs: spanMs(spec.maxTtl),
    maxEntries: spec.maxEntries,
    exempt: spec.exempt,
  };
}

export function toDeclaredFeed(resource: WafFeed, location = ""): DeclaredFeed {
  const { spec } = resource;
  const { guards, interval, staleAfter, suspend } = spec;
  const source = feedSource(spec);
  const isHttp = source.type === "Http";
  return {
    meta: toResourceMeta(resource, location),
    source,
    // CrowdSec decisions change every minute, and having none is a normal state.
    intervalMs: spanMs(interval ?? (isHttp ? "1h" : "1m")),
    guards: { ...guards, minEntries: guards.minEntries ?? (isHttp ? 1 : 0) },
    staleAfterMs: spanMs(staleAfter),
    suspend,
    allowedNamespaces: allowedNamespaces(spec.allowedNamespaces),
  };
}

/** The schema ensures that exactly one of the two is set. */
function feedSource({ http, crowdsec }: WafFeed["spec"]): DeclaredFeed["source"] {
  if (http !== undefined) {
    const { url, headersFrom } = http;
    return { type: "Http", url, headersFrom, format: feedFormat(http) };
  }
  if (crowdsec === undefined) throw new TypeError("A feed without a source reached the conversion.");
  return { type: "Crowdsec", ...crowdsec, url: canonicalBaseUrl(crowdsec.url) };
}

function feedFormat({ csv, json }: NonNullable<WafFeed["spec"]["http"]>): FeedFormat {
  if (csv !== undefined) return { type: "Csv", ...csv };
  return json === undefined ? { type: "Plain" } : { type: "Json", path: json.path };
}

/** Converts a duration to milliseconds. The schema has already validated the string. */
function spanMs(text: string): number {
  const parsed = parseDuration(text);
  if (parsed === undefined) throw new RangeError("A duration reached the conversion without having been checked.");
  return parsed;
}

/** Scheme and host in lower case, no default port, no trailing slash: a canonical URL, because lanes are keyed by it. */
function canonicalBaseUrl(text: string): string {
  return new URL(text).href.replace(/\/$/u, "");
}

function instanceName({ metadata, spec }: WafIpRule | WafOrigin | WafCacheClear | WafAutoBlock): ObjectName {
  return { namespace: spec.instanceRef.namespace ?? metadata.namespace, name: spec.instanceRef.name };
}

function grantOf(grant: WafInstance["spec"]["access"][number]): Grant {
  const { from, names = [], selector } = grant.namespaces;
  return {
    namespaces:
      from === "Selector" && selector !== undefined
        ? { from, selector }
        : from === "All"
          ? { from }
          : { from: "Names", names },
    kinds: grant.kinds,
    actions: grant.actions,
    maxEntries: grant.maxEntries,
    maxPriority: grant.maxPriority,
    minPrefixLength: grant.minPrefixLength,
    maxTtlMs: grant.maxTtl === undefined ? undefined : spanMs(grant.maxTtl),
    adopt: grant.adopt,
    cacheClearMinIntervalMs: spanMs(grant.cacheClear.minInterval),
  };
}

function allowedNamespaces({ from, selector }: WafFeed["spec"]["allowedNamespaces"]): AllowedNamespaces {
  return { from, selector };
}

function workloadRef(
  { kind, name, namespace }: WafInstance["spec"]["cacheClear"]["afterRolloutOf"][number],
  home: string,
): WorkloadRef {
  return { kind, name, namespace: namespace ?? home };
}

function logForwarding(logs: WafInstance["spec"]["logs"]): LogForwarding {
  return {
    enabled: logs.enabled,
    intervalMs: spanMs(logs.interval),
    lookbackMs: spanMs(logs.lookback),
    plan: logs.plan,
    output: logs.output,
  };
}
