// Fetches feeds: reads the Secrets that a feed refers to, and queries its source. The options of the command determine which URLs are allowed.
import type { Clock } from "../async/clock.ts";
import { ApiKey, headerValueLengthMax, secretsIn, validateApiKey } from "../model/api-key.ts";
import type { CrowdsecFeed, DeclaredFeed, HttpFeed, SecretKeyRef } from "../model/declared-feed.ts";
import type { Redactor } from "../model/redactor.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import { inThousands } from "../model/sentence.ts";
import { isPublicAddress } from "../net/address-policy.ts";
import { fail, FetchFailure, type FetchOutcome, type InTurn } from "./content.ts";
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
    const options = { ...this.#network(), inTurn, signal };
    return await outcomeOf(async () => await this.#fetch(feed, state, options), options.redact);
  };

  /** Call this when the feed is no longer declared. */
  readonly forget = (feed: ObjectName): void => void this.#clients.delete(nameKey(feed));

  async #fetch(feed: DeclaredFeed, state: FeedState, options: FetchOptions): Promise<FetchOutcome> {
    const { source, guards } = feed;
    if (source.type === "Crowdsec") return await this.#pull(feed, source, state, options);
    const request = {
      url: source.url,
      headers: await this.#readHeaders(feed, source),
      format: source.format,
      validators: state.good?.facts ?? {},
      // One entry above the limit of the guard is sufficient to detect that there are too many.
      entriesMax: Math.max(guards.maxEntries, 1),
    };
    return await fetchFeed(request, options);
  }

  async #pull(
    { meta }: DeclaredFeed,
    source: CrowdsecFeed,
    { good, held, sourceKey }: FeedState,
    options: FetchOptions,
  ): Promise<FetchOutcome> {
    const ref = source.apiKeySecretRef;
    const key = validateApiKey(await this.#readSecret(meta, ref));
    if (!key.ok) return fail(`The API key in Secret ${ref.name} ${key.problem}.`);
    this.#options.redactor.add(key.key, meta.namespace);
    const known = this.#clients.get(nameKey(meta));
    const client = known?.sourceKey === sourceKey ? known.client : new CrowdsecSource();
    this.#clients.set(nameKey(meta), { sourceKey, client });
    const isCurrent = good !== undefined && held === undefined;
    return await client.pull({ source, key: key.key, isCurrent }, options);
  }

  async #readHeaders({ meta }: DeclaredFeed, { headersFrom }: HttpFeed): Promise<Readonly<Record<string, string>>> {
    const headers: Record<string, string> = {};
    for (const { name, secretKeyRef } of headersFrom) {
      const value = (await this.#readSecret(meta, secretKeyRef)).replace(/\r?\n$/u, "");
      const subject = `The Secret ${secretKeyRef.name} has`;
      if (!/^[\x20-\x7e]+$/u.test(value)) fail(`${subject} a value that is not valid in an HTTP header.`);
      if (value.length > headerValueLengthMax)
        fail(`${subject} more than ${inThousands(headerValueLengthMax)} characters, the limit for an HTTP header.`);
      for (const part of secretsIn(value)) this.#options.redactor.add(new ApiKey(part), meta.namespace);
      headers[name.toLowerCase()] = value;
    }
    return headers;
  }

  async #readSecret({ namespace }: ObjectName, ref: SecretKeyRef): Promise<string> {
    const secret = await this.#options.readSecret(namespace, ref);
    return secret.ok ? secret.value.reveal() : fail(secret.problem);
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

/** Makes an outcome of a failure, whose message `redact` makes safe to show: servers may echo secrets. */
export async function outcomeOf(
  fetch: () => Promise<FetchOutcome>,
  redact: (text: string) => string,
): Promise<FetchOutcome> {
  try {
    return await fetch();
  } catch (error) {
    if (!(error instanceof FetchFailure)) throw error;
    return { kind: "Failed", fault: { ...error.fault, message: redact(error.message) } };
  }
}
