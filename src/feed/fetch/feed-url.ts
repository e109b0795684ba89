// Validates the URLs of feeds, and determines which parts may be shown. The addresses of a host are checked on connection.

export interface FeedUrlPolicy {
  readonly allowInsecureHttp: boolean;
}

export type CheckedUrl =
  | { readonly ok: true; readonly url: URL }
  /** The predicate of a sentence with the URL as its subject. */
  | { readonly ok: false; readonly problem: string };

const urlLengthMax = 2048;

/** @param base the redirecting URL, for a relative location */
export function checkFeedUrl(text: string, { allowInsecureHttp }: FeedUrlPolicy, base?: URL): CheckedUrl {
  if (text.length > urlLengthMax) return { ok: false, problem: `has more than ${urlLengthMax} characters` };
  // URL normalizes every spelling of an IPv4 address, such as 2130706433 or 0x7f.1, to four decimal numbers.
  const url = URL.parse(text, base?.href);
  if (url === null) return { ok: false, problem: "is not a URL" };
  if (url.protocol !== "https:" && url.protocol !== "http:") return { ok: false, problem: "is not an https URL" };
  if (url.username !== "" || url.password !== "") {
    return { ok: false, problem: "contains a user name or a password: move the credentials to spec.http.headersFrom" };
  }
  if (url.protocol === "http:" && !allowInsecureHttp) {
    return { ok: false, problem: "is not https: use https, or start wafsync with --allow-insecure-http for trials" };
  }
  url.hash = "";
  return { ok: true, url };
}

/** Without the query, which may contain a token. Secrets are removed before truncation, so that no part of one remains. */
export function shownUrl({ origin, pathname }: URL, { redact }: { readonly redact: (text: string) => string }): string {
  const shown = redact(`${origin}${pathname}`);
  return shown.length > 200 ? `${shown.slice(0, 200)}…` : shown;
}
