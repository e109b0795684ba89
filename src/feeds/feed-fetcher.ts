// Fetches feeds: reads the Secrets that a feed refers to, and queries its source. The options of the command determine which URLs are allowed.
import { createHash } from "node:crypto";
import type { Clock } from "../async/clock.ts";
import { ApiKey, headerValueLengthMax, secretsIn, validateApiKey } from "../model/api-key.ts";
import type { CrowdsecFeed, DeclaredFeed, HttpFeed, SecretKeyRef, FeedFormat } from "../model/declared.ts";
import type { Redactor } from "../model/redactor.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import { inThousands } from "../model/texts.ts";
import { isPublicAddress } from "../net/checked-lookup.ts";
import { fail, FetchFailure, type FetchOutcome, type InTurn, type TextFacts, type FeedState } from "./feed-state.ts";
import { CrowdsecSource } from "./crowdsec.ts";
import { type FetchOptions, checkFeedUrl, failedStatus, getFeed, readUnpacked, shownUrl } from "./feed-request.ts";
import type { HttpResponse } from "../net/http-connection.ts";
import { readFeed } from "./read-feed.ts";

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

// One fetch of a feed over HTTP: conditional, with a few redirects, each of which is checked like the first URL. Keeps no state.

export const redirectsMax = 3;
export const bytesMax = 16 * 2 ** 20;

export interface FetchRequest {
  readonly url: string;
  /** Sent only to the first host, and never without TLS if the first URL uses TLS, because they may contain credentials. */
  readonly headers: Readonly<Record<string, string>>;
  readonly format: FeedFormat;
  readonly validators: Pick<TextFacts, "etag" | "lastModified">;
  readonly entriesMax: number;
}

type Step = FetchOutcome | { readonly kind: "Redirect"; readonly location: string };

export async function fetchFeed(request: FetchRequest, options: FetchOptions): Promise<FetchOutcome> {
  let url = checkFeedUrl(request.url, "spec.http.url", options);
  const home = url.origin;
  let isHome = true;
  for (let redirects = 0; redirects <= redirectsMax; redirects += 1) {
    // A redirect to another host and back does not restore the headers, because the other host has chosen the path.
    isHome = isHome && url.origin === home;
    const from = url;
    const headers = { ...standardHeaders(request, options), ...(isHome && request.headers) };
    const step = await getFeed({ url, headers, bytesMax }, options, async (response) => {
      return await readAnswer(response, from, request, options);
    });
    if (step.kind !== "Redirect") return step;
    url = checkFeedUrl(step.location, `${shownUrl(from, options)} redirects to a URL that`, options, from);
  }
  return fail(`${shownUrl(new URL(request.url), options)} redirects more than ${redirectsMax} times.`);
}

function standardHeaders({ validators }: FetchRequest, { userAgent }: FetchOptions): Record<string, string> {
  const { etag, lastModified } = validators;
  return {
    accept: "*/*",
    "accept-encoding": "gzip",
    "user-agent": userAgent,
    ...(etag !== undefined && { "if-none-match": etag }),
    ...(lastModified !== undefined && { "if-modified-since": lastModified }),
  };
}

async function readAnswer(answer: HttpResponse, url: URL, request: FetchRequest, options: FetchOptions): Promise<Step> {
  const { status, headers } = answer;
  const { etag, lastModified } = request.validators;
  if (status === 304) {
    if (etag !== undefined || lastModified !== undefined) return { kind: "NotModified" };
    return fail(`${shownUrl(url, options)} responded with status 304 to an unconditional request.`);
  }
  if ([301, 302, 303, 307, 308].includes(status) && headers.location !== undefined) {
    return { kind: "Redirect", location: headers.location };
  }
  if (status !== 200) throw failedStatus(shownUrl(url, options), answer, options.clock.nowMs());
  const encoding = (headers["content-encoding"] ?? "identity").trim().toLowerCase();
  if (!["identity", "gzip", "x-gzip", ""].includes(encoding)) {
    fail(`${url.origin} responded with an encoding that the request did not accept.`);
  }
  const body = await readUnpacked(answer, bytesMax);
  // What is definitely not a list can't be accepted.
  if (body.length === 0) fail("The server returned an empty response.");
  if (/^[\s\u00EF\u00BB\u00BF]*</u.test(body.toString("latin1", 0, markupSearchedMax))) fail(isMarkup);
  const facts: TextFacts = {
    etag: validatorOf(headers.etag, options.redact),
    lastModified: validatorOf(headers["last-modified"], options.redact),
    sha256: createHash("sha256").update(body).digest("hex"),
  };
  const reading = await readFeed(body, request.format, { ...options, entriesMax: request.entriesMax });
  return { kind: "Read", reading, facts };
}

/** A page begins with at most so much white space. */
const markupSearchedMax = 4096;
const isMarkup =
  "The server returned a page (HTML or XML) instead of a list: check the URL, and whether it leads to a login or challenge page.";

/** Sent back unchanged, so it must be a valid header value. It is shown and stored, so it must not contain a secret. */
function validatorOf(header: string | undefined, redact: FetchOptions["redact"]): string | undefined {
  if (header === undefined || header.length > 512 || !/^[\x20-\x7e]+$/u.test(header)) return undefined;
  return redact(header) === header ? header : undefined;
}
