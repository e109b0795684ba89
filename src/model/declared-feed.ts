// A feed as its user declares it, in neutral terms: a list of addresses that somebody else maintains.
import type { LabelSelector } from "./declared.ts";
import type { ResourceMeta } from "./resource.ts";

export interface CsvFormat {
  readonly type: "Csv";
  /** A name of the header row, or a number from 1. */
  readonly column: string;
  /** One character. */
  readonly delimiter: string;
  readonly header: boolean;
}

export interface JsonFormat {
  readonly type: "Json";
  /** A JSONPath, RFC 9535. */
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
  /** Of the feed's own namespace. They go to the first host only. */
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
}

export interface AllowedNamespaces {
  readonly from: "Same" | "All" | "Selector";
  readonly selector: LabelSelector | undefined;
}

export interface DeclaredFeed {
  readonly meta: ResourceMeta;
  readonly source: HttpFeed | CrowdsecFeed;
  readonly intervalMs: number;
  readonly guards: FeedGuards;
  /** How long after the last good answer its content counts as stale. */
  readonly staleAfterMs: number;
  readonly suspend: boolean;
  /** Whose rules may refer to it. */
  readonly allowedNamespaces: AllowedNamespaces;
}
