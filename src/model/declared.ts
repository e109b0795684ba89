// What users declare, in neutral terms: defaults filled in, durations in milliseconds, independent of Kubernetes.
// src/kinds creates these objects from the custom resources; src/decide makes decisions based on them.
import { type TextSource, describeSource } from "./address-source.ts";
import type { GuestKind, ObjectName, ResourceMeta } from "./resource.ts";
import { isChosen } from "./gathered.ts";

export type ListName = "blocklist" | "allowlist";
export const listNames: readonly ListName[] = ["blocklist", "allowlist"];

export function eachList<T>(make: (list: ListName) => T): Record<ListName, T> {
  return { blocklist: make("blocklist"), allowlist: make("allowlist") };
}

/**
 * `Additive` removes only what wafsync itself added. `Exclusive` makes the declared set the complete list. `Observe` plans
 * and reports, but writes nothing.
 */
export type ListPolicy = "Additive" | "Exclusive" | "Observe";
export type OriginsPolicy = "Additive" | "Observe";
export type DeletionPolicy = "Delete" | "Retain";
export type OriginType = "Alternate" | "Backup";

export interface LabelSelector {
  readonly matchLabels: Readonly<Record<string, string>>;
  readonly matchExpressions: readonly {
    readonly key: string;
    readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
    readonly values: readonly string[];
  }[];
}

/** Which namespaces a grant or a feed is for, in addition to its own. */
export interface NamespaceChoice {
  readonly from: "Same" | "All" | "Selector" | "Names";
  /** With `Names`. */
  readonly names?: readonly string[] | undefined;
  /** With `Selector`. */
  readonly selector?: LabelSelector | undefined;
}

/** The permissions that the owner of an instance grants to other namespaces (guests). */
export interface Grant {
  readonly namespaces: NamespaceChoice;
  readonly kinds: readonly GuestKind[];
  readonly actions: readonly DeclaredRule["action"][];
  /** Per namespace, across all its rules. */
  readonly maxEntries: number;
  /** Higher priorities are lowered to this. */
  readonly maxPriority: number;
  /** For Block and Allow entries. */
  readonly minPrefixLength: PrefixLengths;
  /** Entries expire at the latest this long after the creation of their rule; undefined if they need not expire. */
  readonly maxTtlMs: number | undefined;
  /** Whether its rules and origins may adopt existing entries and origins. */
  readonly adopt: boolean;
  /** The minimum time between two cache clears of one namespace. */
  readonly cacheClearMinIntervalMs: number;
}

export interface Guards {
  readonly maxRemovals: number;
  readonly maxRemovalPercent: number;
  /** As written by the user: see `removalWindowMs`. */
  readonly window: string;
  /** As written by the user: networks that no Block entry may overlap. */
  readonly neverBlock: readonly string[];
  /** For Block entries. */
  readonly minPrefixLength: PrefixLengths;
  readonly allowMinPrefixLength: PrefixLengths;
  /** How to handle entries that overlap networks that never send requests over the public Internet. */
  readonly specialPurpose: "Reject" | "Allow";
}

export interface PrefixLengths {
  readonly ipv4: number;
  readonly ipv6: number;
}

export interface ListSettings {
  /** How many entries the WAF accepts on the list; undefined if unknown. */
  readonly maxEntries: number | undefined;
}

export interface WorkloadRef {
  readonly kind: "Deployment" | "StatefulSet" | "DaemonSet";
  readonly name: string;
  readonly namespace: string;
}

export interface LogForwarding {
  readonly enabled: boolean;
  readonly intervalMs: number;
  readonly lookbackMs: number;
  readonly plan: string | undefined;
  readonly output: "Stdout" | "OTLP";
}

export interface DeclaredInstance {
  readonly meta: ResourceMeta;
  /** Without a trailing slash. */
  readonly baseUrl: string;
  readonly apiKeySecretRef: { readonly name: string; readonly key: string };
  readonly expectedDomain: string | undefined;
  /** The first matching grant applies; without one, the namespace has no access. */
  readonly access: readonly Grant[];
  readonly suspend: boolean;
  readonly resyncIntervalMs: number;
  /** How long a list may take to show a write. */
  readonly consistencyWindowMs: number;
  readonly requestTimeoutMs: number;
  readonly minRequestIntervalMs: number;
  readonly policies: {
    readonly blocklist: ListPolicy;
    readonly allowlist: ListPolicy;
    readonly origins: OriginsPolicy;
  };
  readonly lists: Readonly<Record<ListName, ListSettings>>;
  readonly guards: Guards;
  /** How long the guards count a removal. */
  readonly removalWindowMs: number;
  readonly cacheClear: { readonly afterRolloutOf: readonly WorkloadRef[]; readonly minIntervalMs: number };
  readonly logs: LogForwarding;
  readonly deletionPolicy: DeletionPolicy;
}

export interface DeclaredRule {
  readonly meta: ResourceMeta;
  readonly instance: ObjectName;
  readonly action: "Block" | "Allow";
  readonly addresses: readonly string[];
  /** The comment behind each address, or an empty string. Absent without any, and in a cluster, whose API server drops comments. */
  readonly notes?: readonly string[];
  /** Texts in the rule's own namespace. */
  readonly addressesFrom: readonly TextSource[];
  /** The feeds that it uses. */
  readonly feeds: readonly ObjectName[];
  /** As written by the user: networks that are taken out of its entries. */
  readonly except: readonly string[];
  /** Whether its entries are merged into as few networks as possible. */
  readonly aggregate: boolean;
  readonly expiresAtMs: number | undefined;
  readonly ttlMs: number | undefined;
  readonly priority: number;
  readonly deletionPolicy: DeletionPolicy;
  /** Why it exists, in its author's words; absent if nothing is written. */
  readonly description?: string;
  /**
   * Set if each entry ends by itself, and yields to everything that allows or protects one of its addresses: these networks, and what
   * src/decide/yielding.ts names.
   */
  readonly yieldsTo?: readonly string[];
  /** Its entries are only reported. */
  readonly suggests?: true;
}

/** What a rule declares that is made by wafsync, or in a test, unless it says something else. */
export const emptyRule = {
  addresses: [],
  addressesFrom: [],
  feeds: [],
  except: [],
  aggregate: false,
  expiresAtMs: undefined,
  ttlMs: undefined,
  priority: 0,
  deletionPolicy: "Delete",
} as const satisfies Omit<DeclaredRule, "meta" | "instance" | "action">;

/** The end that `unblock` gives to a rule, 2000-01-01: in the past for every clock, because those of two machines may differ. */
export const unblockedAtMs = 946_684_800_000;

export interface DeclaredOrigin {
  readonly meta: ResourceMeta;
  readonly instance: ObjectName;
  /** Lower case, without a trailing dot. */
  readonly host: string;
  readonly type: OriginType;
  readonly deletionPolicy: DeletionPolicy;
}

export interface DeclaredCacheClear {
  /** Of its object; for a clear after a rollout, of the instance. */
  readonly meta: ResourceMeta;
  /** The workload whose rollout it follows, as `Deployment namespace/name`. */
  readonly workload?: string;
  readonly instance: ObjectName;
  readonly trigger: string | undefined;
  readonly suspend: boolean;
  readonly backoffLimit: number;
  readonly activeDeadlineMs: number;
  readonly ttlAfterFinishedMs: number | undefined;
}

/** The list that a rule's entries belong on. */
export function listOf(rule: Pick<DeclaredRule, "action">): ListName {
  return rule.action === "Block" ? "blocklist" : "allowlist";
}

/** Each field is a list of alternatives; an empty list matches everything. */
export interface LogMatch {
  /** Two letters, case-insensitive. */
  readonly countries: readonly string[];
  /** Part of the block reason, case-insensitive. */
  readonly reasons: readonly string[];
  /** `403` or `4xx`. */
  readonly statuses: readonly string[];
  /** Part of the path; with `*`, the whole path. */
  readonly paths: readonly string[];
}

export interface DeclaredAutoBlock {
  readonly meta: ResourceMeta;
  readonly instance: ObjectName;
  readonly mode: "Suggest" | "Enforce";
  readonly suspend: boolean;
  readonly match: LogMatch;
  readonly threshold: number;
  readonly windowMs: number;
  readonly groupBy: "Address" | "Network";
  readonly networkPrefixLength: PrefixLengths;
  readonly ttlMs: number;
  readonly repeatFactor: number;
  readonly maxTtlMs: number;
  readonly maxEntries: number;
  /** Valid networks. */
  readonly exempt: readonly string[];
}

// The declaration of a feed in neutral terms: an external list of addresses.

export interface CsvFormat {
  readonly type: "Csv";
  /** A name in the header row, or a number starting at 1. */
  readonly column: string;
  /** One character. */
  readonly delimiter: string;
  readonly header: boolean;
}

export interface JsonFormat {
  readonly type: "Json";
  /** Names and `[*]`, such as `items[*].ip`. */
  readonly path: string;
}

export type FeedFormat = { readonly type: "Plain" } | CsvFormat | JsonFormat;

export interface SecretKeyRef {
  readonly name: string;
  readonly key: string;
}

export interface HttpFeed {
  readonly type: "Http";
  readonly url: string;
  /** In the feed's own namespace. Sent only to the first host. */
  readonly headersFrom: readonly { readonly name: string; readonly secretKeyRef: SecretKeyRef }[];
  readonly format: FeedFormat;
}

export interface CrowdsecFeed {
  readonly type: "Crowdsec";
  /** Without a trailing slash. */
  readonly url: string;
  readonly apiKeySecretRef: SecretKeyRef;
  readonly origins: readonly string[];
  readonly scenariosContaining: readonly string[];
  readonly scenariosNotContaining: readonly string[];
  /** Of decisions: `ban`. */
  readonly types: readonly string[];
}

export interface FeedGuards {
  readonly minEntries: number;
  readonly maxShrinkPercent: number;
  readonly maxInvalidPercent: number;
  readonly maxEntries: number;
  /** IPv4 addresses, and IPv6 networks of length 48. */
  readonly maxAddresses: number;
}

export interface DeclaredFeed {
  readonly meta: ResourceMeta;
  readonly source: HttpFeed | CrowdsecFeed;
  readonly intervalMs: number;
  readonly guards: FeedGuards;
  /** How long after the last successful fetch the content becomes stale. */
  readonly staleAfterMs: number;
  readonly suspend: boolean;
  /** The namespaces whose rules may refer to it. */
  readonly allowedNamespaces: NamespaceChoice;
}

/** All declared feeds. */
export interface DeclaredFeeds {
  readonly used: readonly DeclaredFeed[];
  /** No rule that may use them is attached to an instance: nothing is fetched or kept of them. */
  readonly unused: readonly DeclaredFeed[];
}

export interface FeedUser {
  /** The namespace of the rule. */
  readonly namespace: string;
  /** Undefined if they could not be read. */
  readonly labels: Readonly<Record<string, string>> | undefined;
}

/** A feed can be used in its own namespace, and in those that it allows. */
export function mayUseFeed({ meta, allowedNamespaces }: DeclaredFeed, { namespace, labels }: FeedUser): boolean {
  return namespace === meta.namespace || isChosen(allowedNamespaces, namespace, labels) === true;
}

/** The name of a feed as a source of entries. */
export function feedSourceName({ namespace, name }: ObjectName): string {
  return describeSource({ kind: "WafFeed", namespace, name });
}
