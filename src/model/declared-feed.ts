// The declaration of a feed in neutral terms: an external list of addresses.
import type { NamespaceChoice } from "./declared.ts";
import { isChosen } from "./attachment.ts";
import { describeSource } from "./address-source.ts";
import type { ObjectName, ResourceMeta } from "./resource.ts";

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
