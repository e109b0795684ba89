// What one fetch of a feed came to: what the decisions about it are made from.
import type { FeedReading } from "../../model/feed.ts";

/** What the server said about a text, for the next request and for the status. */
export interface TextFacts {
  readonly etag: string | undefined;
  readonly lastModified: string | undefined;
  /** Of the decoded text, in hexadecimal. */
  readonly sha256: string;
  /** In lower case, without parameters; undefined if the server did not say. */
  readonly contentType: string | undefined;
  /** Whether the text begins as HTML and XML do. */
  readonly looksLikeMarkup: boolean;
  readonly bytes: number;
}

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
  /** How long the server asks to wait. */
  readonly retryAfterMs?: number;
}

export type FetchOutcome =
  /** The text is the one whose validators were sent. */
  | { readonly kind: "NotModified" }
  /** Decisions of CrowdSec have no facts: they do not come as a text. */
  | { readonly kind: "Read"; readonly reading: FeedReading; readonly facts: TextFacts | undefined }
  /** Changes that the source named one by one, applied to the content: nothing is missing by mistake. */
  | { readonly kind: "Updated"; readonly reading: FeedReading }
  | { readonly kind: "Failed"; readonly fault: FetchFault };
