// One spelling for each base URL, so that two ways to write the same WAF share one lane.

export interface BaseUrl {
  /** `https://host` or `https://host:port`: lower case, no default port. */
  readonly origin: string;
  /** What precedes `/api`: empty, or with a leading and no trailing slash. */
  readonly path: string;
}

export type NormalizedBaseUrl =
  | { readonly ok: true; readonly value: BaseUrl }
  | { readonly ok: false; readonly problem: string };

/** Whether plain http is allowed is not decided here. `problem` completes "the base URL …" and does not repeat the URL. */
export function normalizeBaseUrl(text: string): NormalizedBaseUrl {
  const url = URL.parse(text.trim());
  if (url === null) return { ok: false, problem: "is not a URL: write it as https://host" };
  if (url.protocol !== "https:" && url.protocol !== "http:") return { ok: false, problem: "must begin with https://" };
  if (url.username !== "" || url.password !== "")
    return { ok: false, problem: "must not hold a user name or a password" };
  if (url.search !== "" || url.hash !== "") return { ok: false, problem: "must end before any ? or #" };
  const path = url.pathname
    .replaceAll(/\/{2,}/g, "/")
    .replace(/\/$/, "")
    .replaceAll(/%[0-9a-f]{2}/gi, (escape) => escape.toUpperCase());
  return { ok: true, value: { origin: url.origin, path } };
}

/** For a base URL that was checked before: another one is a mistake in the program. */
export function requireBaseUrl(text: string): BaseUrl {
  const normalized = normalizeBaseUrl(text);
  if (!normalized.ok) throw Object.assign(new Error(`The base URL ${normalized.problem}.`), { code: "InvalidBaseUrl" });
  return normalized.value;
}
