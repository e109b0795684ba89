// One fetch of a feed over HTTP: conditional, with a few redirects, each of which is checked like the first URL. Never rejects:
// all failures are in the outcome. Keeps no state.
import type { Clock } from "../../async/clock.ts";
import type { FeedFormat } from "../../model/declared-feed.ts";
import type { FetchFault, FetchOutcome, TextFacts } from "../../plan/feeds/fetched-text.ts";
import { readFeed } from "../read/read-feed.ts";
import { DecodedBody } from "./decoded-body.ts";
import { type ExchangeAnswer, type NetworkOptions, exchange } from "./exchange.ts";
import { type FeedUrlPolicy, checkFeedUrl, shownUrl } from "./feed-url.ts";
import { type FaultContext, deadlineCode, networkFault } from "./network-fault.ts";
import { parseRetryAfter } from "../../net/retry-after.ts";

export const redirectsMax = 3;
export const bytesMax = 16 * 2 ** 20;
export const timeoutMs = 30_000;

export interface FetchRequest {
  readonly url: string;
  /** Only for the first host, because they may contain credentials. */
  readonly headers: Readonly<Record<string, string>>;
  readonly format: FeedFormat;
  readonly validators: Pick<TextFacts, "etag" | "lastModified">;
  readonly entriesMax: number;
}

export interface FetchOptions extends NetworkOptions, FeedUrlPolicy {
  readonly clock: Pick<Clock, "schedule" | "nowMs">;
  /** False if feeds may be on internal networks: messages then contain fewer details. */
  readonly isPublicOnly: boolean;
  readonly userAgent: string;
  readonly signal?: AbortSignal;
}

type Step = FetchOutcome | { readonly kind: "Redirect"; readonly location: string };

export async function fetchFeed(request: FetchRequest, options: FetchOptions): Promise<FetchOutcome> {
  const deadline = new AbortController();
  const cancel = options.clock.schedule(timeoutMs, () =>
    deadline.abort(Object.assign(new Error("The time is over."), { code: deadlineCode })),
  );
  const signal = options.signal === undefined ? deadline.signal : AbortSignal.any([deadline.signal, options.signal]);
  try {
    return await followRedirects(request, options, signal);
  } finally {
    cancel();
    // Closes the connection if the rest of the body is not needed.
    deadline.abort();
  }
}

async function followRedirects(
  request: FetchRequest,
  options: FetchOptions,
  signal: AbortSignal,
): Promise<FetchOutcome> {
  let checked = checkFeedUrl(request.url, options);
  if (!checked.ok) return failed("UrlNotAllowed", `spec.http.url ${checked.problem}.`);
  const home = checked.url.host;
  let isHome = true;
  for (let redirects = 0; redirects <= redirectsMax; redirects += 1) {
    // A redirect to another host and back does not restore the headers, because the other host has chosen the path.
    isHome = isHome && checked.url.host === home;
    const { url } = checked;
    const step = await askOnce(url, isHome ? request.headers : {}, request, options, signal);
    if (step.kind !== "Redirect") return step;
    checked = checkFeedUrl(step.location, options, url);
    if (!checked.ok) return failed("UrlNotAllowed", `${shownUrl(url)} redirects to a URL that ${checked.problem}.`);
  }
  return failed("TooManyRedirects", `${shownUrl(new URL(request.url))} redirects more than ${redirectsMax} times.`);
}

async function askOnce(
  url: URL,
  ownHeaders: Readonly<Record<string, string>>,
  request: FetchRequest,
  options: FetchOptions,
  signal: AbortSignal,
): Promise<Step> {
  const context: FaultContext = { origin: url.origin, timeoutMs, bytesMax, isPublicOnly: options.isPublicOnly };
  let answer: ExchangeAnswer | undefined;
  try {
    const headers = { ...standardHeaders(request, options), ...ownHeaders };
    answer = await exchange({ method: "GET", url, headers }, options, signal);
    return await readAnswer(answer, url, request, options);
  } catch (error) {
    return { kind: "Failed", fault: networkFault(error, answer !== undefined, context) };
  } finally {
    answer?.body.destroy();
  }
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

async function readAnswer(
  answer: ExchangeAnswer,
  url: URL,
  request: FetchRequest,
  options: FetchOptions,
): Promise<Step> {
  const { status, headers } = answer;
  if (status === 304) return notModified(url, request);
  if ([301, 302, 303, 307, 308].includes(status) && headers["location"] !== undefined) {
    return { kind: "Redirect", location: headers["location"] };
  }
  if (status !== 200) return failedStatus(status, url, headers["retry-after"], options.clock.nowMs());
  return await readText(answer, url, request);
}

async function readText({ headers, body }: ExchangeAnswer, url: URL, request: FetchRequest): Promise<FetchOutcome> {
  const encoding = (headers["content-encoding"] ?? "identity").trim().toLowerCase();
  if (!["identity", "gzip", "x-gzip", ""].includes(encoding)) {
    return failed("NotInFormat", `${url.origin} responded with an encoding that the request did not accept.`);
  }
  const decoded = new DecodedBody(body, bytesMax);
  const chunks = decoded.chunks();
  const read = await readFeed(keptOpen(chunks), request.format, request.entriesMax);
  const sha256 = await decoded.finish(chunks);
  const facts: TextFacts = {
    etag: validatorOf(headers["etag"]),
    lastModified: validatorOf(headers["last-modified"]),
    sha256,
    contentType: headers["content-type"]?.split(";")[0]?.trim().toLowerCase(),
    looksLikeMarkup: decoded.looksLikeMarkup,
    bytes: decoded.bytes,
  };
  // Report a page as such, rather than as invalid JSON.
  if (!read.ok && facts.looksLikeMarkup) return { kind: "Read", reading: nothingRead, facts };
  return read.ok ? { kind: "Read", reading: read.reading, facts } : { kind: "Failed", fault: read.fault };
}

const nothingRead = {
  content: { entries: [], expiresAtMs: new Map() },
  counts: { total: 0, valid: 0, invalid: 0, duplicates: 0 },
  invalidLines: [],
};

/** Readers stop early when they have enough entries, but the checksum needs the rest. */
function keptOpen(chunks: AsyncGenerator<Buffer>): AsyncIterable<Buffer> {
  return { [Symbol.asyncIterator]: () => ({ next: async () => await chunks.next() }) };
}

function notModified(url: URL, { validators }: FetchRequest): FetchOutcome {
  const isAsked = validators.etag !== undefined || validators.lastModified !== undefined;
  return isAsked
    ? { kind: "NotModified" }
    : failed("HttpStatus", `${shownUrl(url)} responded with status 304 to an unconditional request.`);
}

function failedStatus(status: number, url: URL, retryAfter: string | undefined, nowMs: number): FetchOutcome {
  const retryAfterMs = parseRetryAfter(retryAfter, nowMs);
  const code = status === 429 ? "RateLimited" : "HttpStatus";
  const fault: FetchFault = {
    code,
    message: `${shownUrl(url)} responded with status ${status}.`,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
  return { kind: "Failed", fault };
}

function failed(code: FetchFault["code"], message: string): FetchOutcome {
  return { kind: "Failed", fault: { code, message } };
}

/** Sent back unchanged, so it must be valid in a header. */
function validatorOf(header: string | undefined): string | undefined {
  return header !== undefined && header.length <= 512 && /^[\x20-\x7e]+$/u.test(header) ? header : undefined;
}
