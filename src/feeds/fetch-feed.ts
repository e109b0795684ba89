// One fetch of a feed over HTTP: conditional, with a few redirects, each of which is checked like the first URL. Never rejects:
// all failures are in the outcome. Keeps no state.
import type { FeedFormat } from "../model/declared-feed.ts";
import type { HttpResponse } from "../net/http-connection.ts";
import type { FetchFault, FetchOutcome, InTurn, TextFacts } from "./content.ts";
import {
  checkFeedUrl,
  DecodedBody,
  type FeedDeadline,
  type FeedRequestOptions,
  getFeed,
  shownUrl,
  startFeedDeadline,
  statusFault,
} from "./feed-request.ts";
import { readFeed } from "./read-feed.ts";

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

export interface FetchOptions extends FeedRequestOptions {
  readonly inTurn: InTurn;
  readonly signal?: AbortSignal;
}

type Step = FetchOutcome | { readonly kind: "Redirect"; readonly location: string };

export async function fetchFeed(request: FetchRequest, options: FetchOptions): Promise<FetchOutcome> {
  const deadline = startFeedDeadline(options.clock, options.inTurn, options.signal);
  try {
    const outcome = await followRedirects(request, options, deadline);
    if (outcome.kind !== "Failed") return outcome;
    return { ...outcome, fault: { ...outcome.fault, message: options.redact(outcome.fault.message) } };
  } finally {
    deadline.end();
  }
}

async function followRedirects(
  request: FetchRequest,
  options: FetchOptions,
  deadline: FeedDeadline,
): Promise<FetchOutcome> {
  let checked = checkFeedUrl(request.url, options);
  if (!checked.ok) return failed("UrlNotAllowed", `spec.http.url ${checked.problem}.`);
  const home = checked.url.origin;
  let isHome = true;
  for (let redirects = 0; redirects <= redirectsMax; redirects += 1) {
    // A redirect to another host and back does not restore the headers, because the other host has chosen the path.
    isHome = isHome && checked.url.origin === home;
    const { url } = checked;
    const step = await askOnce(url, isHome ? request.headers : {}, request, options, deadline);
    if (step.kind !== "Redirect") return step;
    checked = checkFeedUrl(step.location, options, url);
    if (!checked.ok)
      return failed("UrlNotAllowed", `${shownUrl(url, options)} redirects to a URL that ${checked.problem}.`);
  }
  return failed(
    "TooManyRedirects",
    `${shownUrl(new URL(request.url), options)} redirects more than ${redirectsMax} times.`,
  );
}

async function askOnce(
  url: URL,
  ownHeaders: Readonly<Record<string, string>>,
  request: FetchRequest,
  options: FetchOptions,
  deadline: FeedDeadline,
): Promise<Step> {
  const headers = { ...standardHeaders(request, options), ...ownHeaders };
  const got = await getFeed(
    { url, headers, bytesMax },
    options,
    deadline.signal,
    async (response) => await readAnswer(response, url, request, options, deadline),
  );
  return got.ok ? got.value : { kind: "Failed", fault: got.fault };
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
  answer: HttpResponse,
  url: URL,
  request: FetchRequest,
  options: FetchOptions,
  deadline: FeedDeadline,
): Promise<Step> {
  const { status, headers } = answer;
  if (status === 304) return notModified(url, request, options);
  if ([301, 302, 303, 307, 308].includes(status) && headers.location !== undefined) {
    return { kind: "Redirect", location: headers.location };
  }
  if (status !== 200) {
    return { kind: "Failed", fault: statusFault(shownUrl(url, options), answer, options.clock.nowMs()) };
  }
  return await deadline.read(async () => await readText(answer, url, request, options));
}

async function readText(
  { headers, body }: HttpResponse,
  url: URL,
  request: FetchRequest,
  { redact }: FetchOptions,
): Promise<FetchOutcome> {
  const encoding = (headers["content-encoding"] ?? "identity").trim().toLowerCase();
  if (!["identity", "gzip", "x-gzip", ""].includes(encoding)) {
    return failed("NotInFormat", `${url.origin} responded with an encoding that the request did not accept.`);
  }
  const decoded = new DecodedBody(body, bytesMax);
  const chunks = decoded.chunks();
  const read = await readFeed(keptOpen(chunks), request.format, { entriesMax: request.entriesMax, redact });
  const sha256 = await decoded.finish(chunks);
  const facts: TextFacts = {
    etag: validatorOf(headers.etag, redact),
    lastModified: validatorOf(headers["last-modified"], redact),
    sha256,
    contentType:
      redact(headers["content-type"] ?? "")
        .split(";")[0]
        ?.trim()
        .toLowerCase() || undefined,
    looksLikeMarkup: decoded.looksLikeMarkup,
    bytes: decoded.bytes,
  };
  // A web page is reported as such rather than as invalid JSON.
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

function notModified(url: URL, { validators }: FetchRequest, options: FetchOptions): FetchOutcome {
  const isAsked = validators.etag !== undefined || validators.lastModified !== undefined;
  return isAsked
    ? { kind: "NotModified" }
    : failed("HttpStatus", `${shownUrl(url, options)} responded with status 304 to an unconditional request.`);
}

function failed(code: FetchFault["code"], message: string): FetchOutcome {
  return { kind: "Failed", fault: { code, message } };
}

/** Sent back unchanged, so it must be a valid header value. It is shown and stored, so it must not contain a secret. */
function validatorOf(header: string | undefined, redact: FetchOptions["redact"]): string | undefined {
  if (header === undefined || header.length > 512 || !/^[\x20-\x7e]+$/u.test(header)) return undefined;
  return redact(header) === header ? header : undefined;
}
