// Normalizes base URLs, so that different spellings of the same URL share one lane.

export interface BaseUrl {
  /** `https://host` or `https://host:port`: lower case, no default port. */
  readonly origin: string;
  /** What precedes `/api`: empty, or with a leading and no trailing slash. */
  readonly path: string;
}

export type NormalizedBaseUrl =
  | { readonly ok: true; readonly value: BaseUrl }
  | { readonly ok: false; readonly problem: string };

/** Does not decide whether plain http is allowed. `problem` completes "the base URL …" and does not repeat the URL. */
export function normalizeBaseUrl(text: string): NormalizedBaseUrl {
  const url = URL.parse(text.trim());
  if (url === null) return { ok: false, problem: "is not a URL: write it as https://host" };
  if (url.protocol !== "https:" && url.protocol !== "http:") return { ok: false, problem: "must begin with https://" };
  if (url.username !== "" || url.password !== "")
    return { ok: false, problem: "must not contain a user name or password" };
  if (url.search !== "" || url.hash !== "") return { ok: false, problem: "must not contain a query or fragment" };
  const path = url.pathname
    .replaceAll(/\/{2,}/g, "/")
    .replace(/\/$/, "")
    .replaceAll(/%[0-9a-f]{2}/gi, (escape) => escape.toUpperCase());
  return { ok: true, value: { origin: url.origin, path } };
}

/** For a base URL that was already checked: an invalid one is a bug. */
export function requireBaseUrl(text: string): BaseUrl {
  const normalized = normalizeBaseUrl(text);
  if (!normalized.ok) throw Object.assign(new Error(`The base URL ${normalized.problem}.`), { code: "InvalidBaseUrl" });
  return normalized.value;
}
