// Converts custom resources into the neutral declarations from which plans are made. What the schemas have in common with a
// declaration is passed on; durations become milliseconds, and names complete.
import type {
  DeclaredAutoBlock,
  DeclaredCacheClear,
  DeclaredInstance,
  DeclaredOrigin,
  DeclaredRule,
  Grant,
  DeclaredFeed,
  FeedFormat,
} from "../model/declared.ts";
import { textFields, type TextSource } from "../model/address-source.ts";
import type { ObjectName, ResourceKind, ResourceMeta, GuestKind } from "../model/resource.ts";
import type { CustomResource, Resource } from "./custom-resource.ts";
import { parseDuration } from "./durations.ts";
import type { ObjectMetadata } from "./parse-metadata.ts";

type KnownMetadata = Pick<ObjectMetadata, "name"> & Partial<Omit<ObjectMetadata, "finalizers">>;

/** The part of an object's metadata that wafsync needs. `location` is the file and line; empty in a cluster. */
export function toResourceMeta(kind: ResourceKind, metadata: KnownMetadata, location = ""): ResourceMeta {
  const { name, namespace = "", uid = "", generation = 1, annotations = {}, deletionTimestamp } = metadata;
  const createdAtMs = Date.parse(metadata.creationTimestamp ?? "");
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
export function toDeclared<Kind extends ResourceKind>(
  resource: CustomResource & { readonly kind: Kind },
  location = "",
): DeclaredByKind[Kind] {
  const convert: Conversion<Kind> = conversions[resource.kind];
  const meta = toResourceMeta(resource.kind, resource.metadata, location);
  return { meta, ...convert(resource as unknown as Resource<Kind>) } as DeclaredByKind[Kind];
}

type Conversion<Kind extends ResourceKind> = (resource: Resource<Kind>) => Omit<DeclaredByKind[Kind], "meta">;

const conversions: { readonly [Kind in ResourceKind]: Conversion<Kind> } = {
  WafInstance: ({ spec, metadata }) => ({
    baseUrl: canonicalBaseUrl(spec.baseUrl),
    apiKeySecretRef: spec.apiKeySecretRef,
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
      afterRolloutOf: spec.cacheClear.afterRolloutOf.map(({ namespace = metadata.namespace, ...workload }) => ({
        ...workload,
        namespace,
      })),
      minIntervalMs: spanMs(spec.cacheClear.minInterval),
    },
    logs: {
      enabled: spec.logs.enabled,
      intervalMs: spanMs(spec.logs.interval),
      lookbackMs: spanMs(spec.logs.lookback),
      plan: spec.logs.plan,
      output: spec.logs.output,
    },
    deletionPolicy: spec.deletionPolicy,
  }),

  WafIpRule({ spec, metadata }) {
    const { instanceRef: _, addressesFrom, expiresAt, ttl, description, ...same } = spec;
    return {
      ...same,
      instance: instanceOf({ spec, metadata }),
      addressesFrom: addressesFrom.flatMap((item) =>
        textFields.flatMap(([field, kind]): TextSource[] => {
          const reference = item[field];
          return reference === undefined ? [] : [{ kind, namespace: metadata.namespace, ...reference }];
        }),
      ),
      feeds: addressesFrom.flatMap(({ feedRef }) =>
        feedRef === undefined ? [] : { namespace: feedRef.namespace ?? metadata.namespace, name: feedRef.name },
      ),
      expiresAtMs: expiresAt === undefined ? undefined : Date.parse(expiresAt),
      ttlMs: ttl === undefined ? undefined : spanMs(ttl),
      ...(description === "" ? {} : { description }),
    };
  },

  WafOrigin: ({ spec, metadata }) => ({
    instance: instanceOf({ spec, metadata }),
    host: spec.host.toLowerCase().replace(/\.$/u, ""),
    type: spec.type,
    deletionPolicy: spec.deletionPolicy,
  }),

  WafCacheClear: ({ spec, metadata }) => ({
    instance: instanceOf({ spec, metadata }),
    trigger: spec.trigger,
    suspend: spec.suspend,
    backoffLimit: spec.backoffLimit,
    activeDeadlineMs: spec.activeDeadlineSeconds * 1000,
    ttlAfterFinishedMs: spec.ttlSecondsAfterFinished === undefined ? undefined : spec.ttlSecondsAfterFinished * 1000,
  }),

  WafFeed({ spec }) {
    const { guards, interval, staleAfter, suspend, allowedNamespaces } = spec;
    const source = feedSource(spec);
    const isHttp = source.type === "Http";
    return {
      source,
      // CrowdSec decisions change every minute, and having none is a normal state.
      intervalMs: spanMs(interval ?? (isHttp ? "1h" : "1m")),
      guards: { ...guards, minEntries: guards.minEntries ?? (isHttp ? 1 : 0) },
      staleAfterMs: spanMs(staleAfter),
      suspend,
      allowedNamespaces,
    };
  },

  WafAutoBlock({ spec, metadata }) {
    const { instanceRef: _, window, ttl, maxTtl, ...same } = spec;
    const instance = instanceOf({ spec, metadata });
    return { ...same, instance, windowMs: spanMs(window), ttlMs: spanMs(ttl), maxTtlMs: spanMs(maxTtl) };
  },
};

/** The schema ensures that exactly one of the two is set. */
function feedSource({ http, crowdsec }: Resource<"WafFeed">["spec"]): DeclaredFeed["source"] {
  if (http !== undefined) {
    const { url, headersFrom } = http;
    return { type: "Http", url, headersFrom, format: feedFormat(http) };
  }
  if (crowdsec === undefined) throw new TypeError("A feed without a source reached the conversion.");
  return { type: "Crowdsec", ...crowdsec, url: canonicalBaseUrl(crowdsec.url) };
}

function feedFormat({ csv, json }: NonNullable<Resource<"WafFeed">["spec"]["http"]>): FeedFormat {
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

function instanceOf({ metadata, spec }: Pick<Resource<GuestKind>, "metadata" | "spec">): ObjectName {
  return { namespace: spec.instanceRef.namespace ?? metadata.namespace, name: spec.instanceRef.name };
}

function grantOf({ maxTtl, cacheClear, ...same }: Resource<"WafInstance">["spec"]["access"][number]): Grant {
  return {
    ...same,
    maxTtlMs: maxTtl === undefined ? undefined : spanMs(maxTtl),
    cacheClearMinIntervalMs: spanMs(cacheClear.minInterval),
  };
}
