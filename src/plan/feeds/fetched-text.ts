// The result of one fetch of a feed, as the input for decisions.
import type { FeedReading } from "../../model/feed.ts";

/** The server's metadata of the content, for the next request and for the status. */
export interface TextFacts {
  readonly etag: string | undefined;
  readonly lastModified: string | undefined;
  /** The hash of the decoded content, in hexadecimal. */
  readonly sha256: string;
  /** In lowercase, without parameters; undefined if the server did not declare it. */
  readonly contentType: string | undefined;
  /** Whether the content starts like HTML or XML. */
  readonly looksLikeMarkup: boolean;
  readonly bytes: number;
}

/** Reads a response when it is its turn, because it can fill a lot of memory. Waiting for a response fills none. */
export type InTurn = <T>(read: () => Promise<T>) => Promise<T>;

export type FetchFaultCode =
  | "Unreachable"
  | "UrlNotAllowed"
  | "Refused"
  | "TimedOut"
  | "Truncated"
  | "TooLarge"
  | "HttpStatus"
  | "RateLimited"
  | "TooManyRedirects"
  | "NotInFormat"
  | "TooManyEntries"
  | "MissingSecret";

/** Why there is no new content. The message is a sentence without secrets. */
export interface FetchFault {
  readonly code: FetchFaultCode;
  readonly message: string;
  /** The delay that the server requests. */
  readonly retryAfterMs?: number;
}

export type FetchOutcome =
  /** The content matches the validators of the request. */
  | { readonly kind: "NotModified" }
  /** CrowdSec decisions have no facts, because they are not text. */
  | { readonly kind: "Read"; readonly reading: FeedReading; readonly facts: TextFacts | undefined }
  /** The source reported individual changes, so no entries can be missing by mistake. Only for content that is in use. */
  | { readonly kind: "Updated"; readonly reading: FeedReading }
  | { readonly kind: "Failed"; readonly fault: FetchFault };
