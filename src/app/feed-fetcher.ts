// Fetches feeds: reads the Secrets that a feed refers to, and queries its source. The options of the command determine which URLs are allowed.
import type { Clock } from "../async/clock.ts";
import { ApiKey, headerValueLengthMax, secretsIn, validateApiKey } from "../model/api-key.ts";
import type { CrowdsecFeed, DeclaredFeed, HttpFeed, SecretKeyRef } from "../model/declared-feed.ts";
import type { KeyOwner, Redactor } from "../model/redactor.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import { inThousands } from "../model/sentence.ts";
import { fetchFeed } from "../feed/fetch/fetch-feed.ts";
import { CrowdsecSource } from "../feed/crowdsec/crowdsec-source.ts";
import { isPublicAddress } from "../net/address-policy.ts";
import type { FeedState } from "../plan/feeds/feed-state.ts";
import type { FetchOutcome, InTurn } from "../plan/feeds/fetched-text.ts";
import type { FetchFeed } from "../reconcile/feeds/feed-ports.ts";

export interface FeedPolicy {
  readonly allowInsecureHttp: boolean;
  /** Whether the hosts of feeds may have addresses outside the public internet. */
  readonly allowPrivateFeeds: boolean;
}

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

export interface FeedFetcher {
  readonly fetch: FetchFeed;
  /** Call this when the feed is no longer declared. */
  readonly forget: (feed: ObjectName) => void;
}

export function createFeedFetcher(options: FeedFetcherOptions): FeedFetcher {
  const crowdsecs = new Map<string, CrowdsecClient>();
  return {
    fetch: fetching(options, crowdsecs),
    forget: (feed) => void crowdsecs.delete(nameKey(feed)),
  };
}

function fetching(options: FeedFetcherOptions, crowdsecs: Map<string, CrowdsecClient>): FetchFeed {
  return async (feed, { validators, state }, signal, inTurn) => {
    const { source } = feed;
    if (source.type === "Crowdsec") {
      return await pullDecisions(crowdsecs, options, feed, source, { state, signal, inTurn });
    }
    const headers = await readHeaders(feed, source, options);
    if (!headers.ok) return headers.outcome;
    const request = {
      url: source.url,
      headers: headers.headers,
      format: source.format,
      validators,
      // One entry above the limit of the guard is sufficient to detect that there are too many.
      entriesMax: Math.max(feed.guards.maxEntries, 1),
    };
    return await fetchFeed(request, { ...networkOptions(options), inTurn, signal });
  };
}

function networkOptions({ policy, clock, redactor, version }: FeedFetcherOptions) {
  return {
    allowInsecureHttp: policy.allowInsecureHttp,
    isAllowed: (address: string): boolean => policy.allowPrivateFeeds || isPublicAddress(address),
    isPublicOnly: !policy.allowPrivateFeeds,
    clock,
    userAgent: `wafsync/${version}`,
    redact: (text: string): string => redactor.redact(text),
  };
}

/** Keeps the decisions of one feed. After a change of the source, a new client starts from scratch. */
interface CrowdsecClient {
  readonly sourceKey: string;
  readonly client: CrowdsecSource;
}

async function pullDecisions(
  clients: Map<string, CrowdsecClient>,
  options: FeedFetcherOptions,
  feed: DeclaredFeed,
  source: CrowdsecFeed,
  { state, signal, inTurn }: { readonly state: FeedState; readonly signal: AbortSignal; readonly inTurn: InTurn },
): Promise<FetchOutcome> {
  const secret = await options.readSecret(feed.meta.namespace, source.apiKeySecretRef);
  if (!secret.ok) return missing(secret.problem).outcome;
  const key = validateApiKey(secret.value.reveal());
  if (!key.ok) return missing(`The API key in Secret ${source.apiKeySecretRef.name} ${key.problem}.`).outcome;
  const name = nameKey(feed.meta);
  options.redactor.add(key.key, ownerOf(feed.meta, "key"));
  const known = clients.get(name);
  const { good, held, sourceKey } = state;
  const client = known?.sourceKey === sourceKey ? known.client : new CrowdsecSource(networkOptions(options));
  clients.set(name, { sourceKey, client });
  const isCurrent = good !== undefined && held === undefined;
  return await client.pull({ source, key: key.key, isCurrent, inTurn }, signal);
}

type ReadHeaders =
  | { readonly ok: true; readonly headers: Readonly<Record<string, string>> }
  | { readonly ok: false; readonly outcome: FetchOutcome };

async function readHeaders(
  { meta }: DeclaredFeed,
  { headersFrom }: HttpFeed,
  { readSecret, redactor }: FeedFetcherOptions,
): Promise<ReadHeaders> {
  const headers: Record<string, string> = {};
  for (const { name, secretKeyRef } of headersFrom) {
    const secret = await readSecret(meta.namespace, secretKeyRef);
    if (!secret.ok) return missing(secret.problem);
    const value = secret.value.reveal().replace(/\r?\n$/u, "");
    if (!/^[\x20-\x7e]+$/u.test(value))
      return missing(`The Secret ${secretKeyRef.name} has a value that is not valid in an HTTP header.`);
    if (value.length > headerValueLengthMax) {
      const limit = inThousands(headerValueLengthMax);
      return missing(
        `The Secret ${secretKeyRef.name} has more than ${limit} characters, the limit for an HTTP header.`,
      );
    }
    for (const part of secretsIn(value)) redactor.add(new ApiKey(part), ownerOf(meta, `header ${name}`));
    headers[name.toLowerCase()] = value;
  }
  return { ok: true, headers };
}

function ownerOf({ namespace, name }: ObjectName, part: string): KeyOwner {
  return { namespace, name: `WafFeed ${name} ${part}` };
}

function missing(message: string): Extract<ReadHeaders, { ok: false }> {
  return { ok: false, outcome: { kind: "Failed", fault: { code: "MissingSecret", message } } };
}
