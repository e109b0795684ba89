// Which base URLs the operator may call. A user who may create a WafInstance must not make it call internal addresses.
import { normalizeBaseUrl } from "../waf/base-url.ts";

export interface BaseUrlPolicy {
  readonly allowInsecureHttp: boolean;
  /** Allowed prefixes, for example `https://api.waf.example/`; undefined allows all. */
  readonly allowedBaseUrls: readonly string[] | undefined;
}

/** Why the base URL may not be called, in a sentence that says what to write instead; undefined if it may. */
export function baseUrlObjection(policy: BaseUrlPolicy, baseUrl: string): string | undefined {
  const normalized = normalizeBaseUrl(baseUrl);
  if (!normalized.ok) return `spec.baseUrl ${normalized.problem}.`;
  const { protocol } = new URL(baseUrl);
  if (protocol !== "https:" && !policy.allowInsecureHttp) {
    return `spec.baseUrl ${baseUrl} is not https, so the API key would travel in the clear: write https://…, or start wafsync with --allow-insecure-http for trials.`;
  }
  const allowed = policy.allowedBaseUrls;
  if (allowed === undefined || allowed.some((prefix) => isBelow(prefix, baseUrl))) return undefined;
  return `spec.baseUrl ${baseUrl} is not among the base URLs that wafsync was started with (--allowed-base-urls ${allowed.join(",")}).`;
}

/** Compares whole path segments, so that `https://a.example/waf` does not allow `https://a.example/waf-internal`. */
function isBelow(prefix: string, baseUrl: string): boolean {
  if (!URL.canParse(prefix)) return false;
  const allowed = new URL(prefix);
  const asked = new URL(baseUrl);
  if (allowed.origin !== asked.origin) return false;
  const folder = allowed.pathname.endsWith("/") ? allowed.pathname : `${allowed.pathname}/`;
  return `${asked.pathname}/`.startsWith(folder);
}
