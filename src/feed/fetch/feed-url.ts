// Which URLs a feed may have, and what of them may be shown. The addresses behind a host are checked when it connects.

export interface FeedUrlPolicy {
  readonly allowInsecureHttp: boolean;
}

export type CheckedUrl =
  | { readonly ok: true; readonly url: URL }
  /** The end of a sentence whose subject is the URL. */
  | { readonly ok: false; readonly problem: string };

const urlLengthMax = 2048;

/** @param base the URL that redirected here, for a location without a host */
export function checkFeedUrl(text: string, { allowInsecureHttp }: FeedUrlPolicy, base?: URL): CheckedUrl {
  if (text.length > urlLengthMax) return { ok: false, problem: `has more than ${urlLengthMax} characters` };
  // URL turns every spelling of an IPv4 address, such as 2130706433 or 0x7f.1, into four decimal numbers.
  const url = URL.parse(text, base?.href);
  if (url === null) return { ok: false, problem: "is not a URL" };
  if (url.protocol !== "https:" && url.protocol !== "http:") return { ok: false, problem: "is not an https URL" };
  if (url.username !== "" || url.password !== "") {
    return { ok: false, problem: "has a user name or a password: put credentials into spec.http.headersFrom" };
  }
  if (url.protocol === "http:" && !allowInsecureHttp) {
    return { ok: false, problem: "is not https: use https, or start wafsync with --allow-insecure-http for trials" };
  }
  url.hash = "";
  return { ok: true, url };
}

/** Without the query, which may contain a token. Secrets are taken out before it is cut, so that no part of one is left. */
export function shownUrl({ origin, pathname }: URL, { redact }: { readonly redact: (text: string) => string }): string {
  const shown = redact(`${origin}${pathname}`);
  return shown.length > 200 ? `${shown.slice(0, 200)}…` : shown;
}
