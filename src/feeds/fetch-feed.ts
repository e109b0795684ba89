// One fetch of a feed over HTTP: conditional, with a few redirects, each of which is checked like the first URL. Keeps no state.
import { createHash } from "node:crypto";
import type { FeedFormat } from "../model/declared-feed.ts";
import type { HttpResponse } from "../net/http-connection.ts";
import { fail, type FetchOutcome, type TextFacts } from "./content.ts";
import { checkFeedUrl, failedStatus, type FetchOptions, getFeed, readUnpacked, shownUrl } from "./feed-request.ts";
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
