// One GET request for a feed: which URLs are allowed, the time limit, and faults in words. Each request has a connection of its own,
// which goes only to checked addresses. For internal networks, a fault reveals only that they are not allowed: the author of a
// feed must not be able to scan for open ports.
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { type Clock, deadlineCode, startDeadline } from "../async/clock.ts";
import { addressRefused } from "../net/checked-lookup.ts";
import {
  type AddressCheck,
  bodyTooLargeCode,
  codeOf,
  type HttpResponse,
  openConnection,
  readBody,
} from "../net/http-connection.ts";
import { parseRetryAfter } from "../net/retry-after.ts";
import { fail, FetchFailure, type InTurn, retryAfterMsMax } from "./feed-state.ts";

export const timeoutMs = 30_000;

export interface FeedUrlPolicy {
  readonly allowInsecureHttp: boolean;
}

export interface FetchOptions extends AddressCheck, FeedUrlPolicy {
  readonly clock: Pick<Clock, "schedule" | "nowMs" | "monotonicMs" | "sleep">;
  /** False if feeds may be on internal networks: messages then contain fewer details. */
  readonly isPublicOnly: boolean;
  /** `name/version`. */
  readonly userAgent: string;
  /** Removes a feed's secrets from a string, because servers may echo them. */
  readonly redact: (text: string) => string;
  readonly inTurn: InTurn;
  readonly signal?: AbortSignal;
}

interface FeedGet {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytesMax: number;
}

/**
 * Limits the time of the wait for a response, and that of `read`, which begins with its turn and may throw the errors of the body. The
 * connection is closed afterwards.
 */
export async function getFeed<T>(
  request: FeedGet,
  options: FetchOptions,
  read: (response: HttpResponse) => Promise<T>,
): Promise<T> {
  const { url, headers } = request;
  const { inTurn, signal } = options;
  const connection = openConnection(url.origin, { socketsMax: 1, keepAliveMs: 0, check: options });
  const deadline = startDeadline({ clock: options.clock, timeoutMs, signal });
  let hasAnswer = false;
  try {
    const path = `${url.pathname}${url.search}`;
    const response = await connection.send({ method: "GET", path, headers }, deadline.signal);
    hasAnswer = true;
    deadline.pause();
    return await inTurn(async () => {
      deadline.restart();
      return await read(response);
    });
  } catch (error) {
    throw error instanceof FetchFailure ? error : networkFailure(error, hasAnswer, request, options);
  } finally {
    deadline.end();
    connection.close();
  }
}

const urlLengthMax = 2048;

/** @param subject of the sentence that says what is wrong @param base the redirecting URL, for a relative location */
export function checkFeedUrl(text: string, subject: string, { allowInsecureHttp }: FeedUrlPolicy, base?: URL): URL {
  if (text.length > urlLengthMax) fail(`${subject} has more than ${urlLengthMax} characters.`);
  // URL normalizes every spelling of an IPv4 address, such as 2130706433 or 0x7f.1, to four decimal numbers.
  const url = URL.parse(text, base?.href);
  if (url === null) return fail(`${subject} is not a URL.`);
  if (url.protocol !== "https:" && url.protocol !== "http:") fail(`${subject} is not an https URL.`);
  if (url.username !== "" || url.password !== "") {
    fail(`${subject} contains a user name or a password: move the credentials to spec.http.headersFrom.`);
  }
  if (url.protocol === "http:" && !allowInsecureHttp) {
    fail(`${subject} is not https: use https, or start wafsync with --allow-insecure-http for trials.`);
  }
  url.hash = "";
  return url;
}

/** Without the query, which may contain a token. Secrets are removed before truncation, so that no part of one remains. */
export function shownUrl({ origin, pathname }: URL, { redact }: { readonly redact: (text: string) => string }): string {
  const shown = redact(`${origin}${pathname}`);
  return shown.length > 200 ? `${shown.slice(0, 200)}…` : shown;
}

/** @param server the responding server, for the message */
export function failedStatus(
  server: string,
  { status, headers }: Pick<HttpResponse, "status" | "headers">,
  nowMs: number,
): FetchFailure {
  const retryAfterMs = parseRetryAfter(headers, nowMs, retryAfterMsMax);
  return new FetchFailure({ message: `${server} responded with status ${status}.`, retryAfterMs });
}

/** @param hasAnswer whether the status has arrived, so that the failure concerns the body */
function networkFailure(
  error: unknown,
  hasAnswer: boolean,
  { url: { origin }, bytesMax }: FeedGet,
  { isPublicOnly }: FetchOptions,
): FetchFailure {
  const code = codeOf(error);
  let message = `Cannot connect to ${origin} (${code}): check the URL and the network.`;
  if (code === deadlineCode) {
    message = `${origin} did not send a complete response within ${Math.round(timeoutMs / 1000)} s.`;
  } else if (code === bodyTooLargeCode) {
    message = `The response of ${origin} is larger than ${Math.floor(bytesMax / 2 ** 20)} MiB.`;
  } else if (hasAnswer || code === bodyTruncated) {
    message = `The response of ${origin} is incomplete. Rules continue to use the last good content.`;
  } else if (code === addressRefused || code === "ENOTFOUND" || code === "EAI_AGAIN" || !isPublicOnly) {
    const reason = isPublicOnly
      ? "the host has no address, or one that is not on the public Internet, which requires --allow-private-feeds"
      : "check the URL, the certificate and the network";
    message = `Cannot connect to ${origin}: ${reason}.`;
  } else if (/CERT|TLS|SSL/u.test(code)) {
    message = `Cannot connect to ${origin} (${code}): check the certificate of the server.`;
  }
  return new FetchFailure({ message });
}

const bodyTruncated = "BODY_TRUNCATED";
const unpack = promisify(gunzip);

/**
 * The complete body, unpacked if it is gzip, whether or not the server declares it. Rejects with the code `BODY_TRUNCATED`, or with an
 * `HttpFault`.
 */
export async function readUnpacked({ body }: HttpResponse, bytesMax: number): Promise<Buffer> {
  const whole = await readBody(body, bytesMax);
  if (whole[0] !== 0x1f || whole[1] !== 0x8b) return whole;
  try {
    return await unpack(whole, { maxOutputLength: bytesMax });
  } catch (error) {
    const isTooLarge = codeOf(error) === "ERR_BUFFER_TOO_LARGE";
    throw Object.assign(new Error("gzip", { cause: error }), { code: isTooLarge ? bodyTooLargeCode : bodyTruncated });
  }
}
