// Fetches feeds: reads the Secrets that a feed refers to, and queries its source. The options of the command determine which URLs are allowed.
import type { Clock } from "../async/clock.ts";
import { ApiKey, headerValueLengthMax, secretsIn, validateApiKey } from "../model/api-key.ts";
import type { CrowdsecFeed, DeclaredFeed, HttpFeed, SecretKeyRef } from "../model/declared-feed.ts";
import type { Redactor } from "../model/redactor.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import { inThousands } from "../model/sentence.ts";
import { isPublicAddress } from "../net/address-policy.ts";
import type { FetchOutcome, InTurn } from "./content.ts";
import { CrowdsecSource } from "./crowdsec.ts";
import type { FeedState } from "./feed-state.ts";
import type { FetchOptions } from "./feed-request.ts";
import { fetchFeed } from "./fetch-feed.ts";

export interface FeedPolicy {
  readonly allowInsecureHttp: boolean;
  /** Whether the hosts of feeds may have addresses outside the public internet. */
  readonly allowPrivateFeeds: boolean;
}

/** Fetches a feed once. Never rejects. */
export type FetchFeed = (
  feed: DeclaredFeed,
  state: FeedState,
  signal: AbortSignal,
  inTurn: InTurn,
) => Promise<FetchOutcome>;

/** `problem` is a sentence with the name of the Secret but none of its contents. */
export type SecretValue =
  | { readonly ok: true; readonly value: ApiKey }
  | { readonly ok: false; readonly problem: string };

export interface FeedFetcherOptions {
  readonly policy: FeedPolicy;
  readonly readSecret: (namespace: string, ref: SecretKeyRef) => Promise<SecretValue>;
  readonly clock: Clock;
  readonly redactor: Redactor;
  /** The version of wafsync. */
  readonly version: string;
}

export class FeedFetcher {
  readonly #options: FeedFetcherOptions;
  /** Each keeps the decisions of one feed. After a change of the source, a new client starts from scratch. */
  readonly #clients = new Map<string, { readonly sourceKey: string; readonly client: CrowdsecSource }>();

  constructor(options: FeedFetcherOptions) {
    this.#options = options;
  }

  readonly fetch: FetchFeed = async (feed, state, signal, inTurn) => {
    const { source, guards } = feed;
    const options = { ...this.#network(), inTurn, signal };
    if (source.type === "Crowdsec") return await this.#pull(feed, source, state, options);
    const headers = await this.#readHeaders(feed, source);
    if (typeof headers === "string") return missing(headers);
    const request = {
      url: source.url,
      headers,
      format: source.format,
      validators: state.good?.facts ?? {},
      // One entry above the limit of the guard is sufficient to detect that there are too many.
      entriesMax: Math.max(guards.maxEntries, 1),
    };
    return await fetchFeed(request, options);
  };

  /** Call this when the feed is no longer declared. */
  readonly forget = (feed: ObjectName): void => void this.#clients.delete(nameKey(feed));

  async #pull(
    { meta }: DeclaredFeed,
    source: CrowdsecFeed,
    { good, held, sourceKey }: FeedState,
    options: FetchOptions,
  ): Promise<FetchOutcome> {
    const { readSecret, redactor } = this.#options;
    const secret = await readSecret(meta.namespace, source.apiKeySecretRef);
    if (!secret.ok) return missing(secret.problem);
    const key = validateApiKey(secret.value.reveal());
    if (!key.ok) return missing(`The API key in Secret ${source.apiKeySecretRef.name} ${key.problem}.`);
    redactor.add(key.key, meta.namespace);
    const known = this.#clients.get(nameKey(meta));
    const client = known?.sourceKey === sourceKey ? known.client : new CrowdsecSource();
    this.#clients.set(nameKey(meta), { sourceKey, client });
    const isCurrent = good !== undefined && held === undefined;
    return await client.pull({ source, key: key.key, isCurrent }, options);
  }

  /** The headers, or why one of them is missing. */
  async #readHeaders(
    { meta }: DeclaredFeed,
    { headersFrom }: HttpFeed,
  ): Promise<Readonly<Record<string, string>> | string> {
    const { readSecret, redactor } = this.#options;
    const headers: Record<string, string> = {};
    for (const { name, secretKeyRef } of headersFrom) {
      const secret = await readSecret(meta.namespace, secretKeyRef);
      if (!secret.ok) return secret.problem;
      const value = secret.value.reveal().replace(/\r?\n$/u, "");
      const subject = `The Secret ${secretKeyRef.name} has`;
      if (!/^[\x20-\x7e]+$/u.test(value)) return `${subject} a value that is not valid in an HTTP header.`;
      if (value.length > headerValueLengthMax)
        return `${subject} more than ${inThousands(headerValueLengthMax)} characters, the limit for an HTTP header.`;
      for (const part of secretsIn(value)) redactor.add(new ApiKey(part), meta.namespace);
      headers[name.toLowerCase()] = value;
    }
    return headers;
  }

  #network() {
    const { policy, clock, redactor, version } = this.#options;
    return {
      allowInsecureHttp: policy.allowInsecureHttp,
      isAllowed: (address: string): boolean => policy.allowPrivateFeeds || isPublicAddress(address),
      isPublicOnly: !policy.allowPrivateFeeds,
      clock,
      userAgent: `wafsync/${version}`,
      redact: (text: string): string => redactor.redact(text),
    };
  }
}

function missing(message: string): FetchOutcome {
  return { kind: "Failed", fault: { message } };
}
