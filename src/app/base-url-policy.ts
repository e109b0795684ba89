// Which base URLs the operator may call. A user who may create a WafInstance must not make it call internal addresses.
import { isPublicAddress, refusedLiteral } from "../net/checked-lookup.ts";
import type { OpenConnection } from "../net/http-connection.ts";
import type { EnvironmentKey } from "../source/directory/gather.ts";
import { normalizeBaseUrl } from "../waf/base-url.ts";
import { connectTo } from "../waf/lane.ts";
import type { Environment } from "./config.ts";

export interface BaseUrlPolicy {
  readonly allowInsecureHttp: boolean;
  /** Allowed prefixes, for example `https://api.waf.example/`; undefined allows all. */
  readonly allowedBaseUrls: readonly string[] | undefined;
  /** Whether base URLs may resolve to loopback, private, link-local and other internal addresses outside `allowedBaseUrls`. */
  readonly allowPrivateNetworks: boolean;
}

/** How the operator connects to accepted base URLs. Host names are checked when they are resolved. */
export function connectionsOf(policy: BaseUrlPolicy): { readonly open: OpenConnection; readonly hidesCause: boolean } {
  return {
    open: connectTo(mayBeInner(policy) ? undefined : { isAllowed: isPublicAddress }),
    // The administrator chose the URLs in the allowlist; any other URL was chosen by a user, who might scan the network.
    hidesCause: policy.allowedBaseUrls === undefined,
  };
}

/** Why the base URL may not be called, in a sentence that says what to write instead; undefined if it may. */
export function baseUrlObjection(policy: BaseUrlPolicy, baseUrl: string): string | undefined {
  const normalized = normalizeBaseUrl(baseUrl);
  if (!normalized.ok) return `spec.baseUrl ${normalized.problem}.`;
  const { protocol } = new URL(baseUrl);
  if (protocol !== "https:" && !policy.allowInsecureHttp) {
    return `spec.baseUrl ${baseUrl} is not https, so the API key would be sent unencrypted: write https://…, or start wafsync with --allow-insecure-http for trials.`;
  }
  const allowed = policy.allowedBaseUrls;
  if (allowed !== undefined && !isAllowedBaseUrl(allowed, baseUrl)) {
    return `spec.baseUrl ${baseUrl} is not one of the allowed base URLs (--allowed-base-urls ${allowed.join(",")}).`;
  }
  if (mayBeInner(policy) || !namesInnerHost(baseUrl)) return undefined;
  return `spec.baseUrl ${baseUrl} is an internal address: set the public URL of the WAF's API, or start wafsync with --allowed-base-urls ${normalized.value.origin} or --allow-private-networks.`;
}

/** The administrator chose the base URLs in `--allowed-base-urls`, so they may have any address. */
function mayBeInner({ allowPrivateNetworks, allowedBaseUrls }: BaseUrlPolicy): boolean {
  return allowPrivateNetworks || allowedBaseUrls !== undefined;
}

/** Whether the URL itself contains an internal address. Names other than localhost are checked when they are resolved. */
function namesInnerHost(baseUrl: string): boolean {
  const { hostname } = new URL(baseUrl);
  return /(?:^|\.)localhost\.?$/.test(hostname) || refusedLiteral(hostname, isPublicAddress) !== undefined;
}

/** Whether the base URL equals one of the allowed base URLs or is below one of them. */
export function isAllowedBaseUrl(allowed: readonly string[], baseUrl: string): boolean {
  return allowed.some((prefix) => isBelow(prefix, baseUrl));
}

/** Compares whole path segments, so that `https://a.example/waf` does not allow `https://a.example/waf-internal`. */
function isBelow(prefix: string, baseUrl: string): boolean {
  if (!URL.canParse(prefix)) return false;
  const allowed = new URL(prefix);
  const asked = URL.parse(baseUrl);
  if (asked === null) return false;
  if (allowed.origin !== asked.origin) return false;
  const folder = allowed.pathname.endsWith("/") ? allowed.pathname : `${allowed.pathname}/`;
  return `${asked.pathname}/`.startsWith(folder);
}

/**
 * The API key from the environment, and its allowed destinations. The files in a folder choose the URL of a WAF, and their author
 * may be the untrusted author of a pull request. The key is therefore sent only to a base URL from the environment or from
 * the allowed base URLs.
 */
export function environmentKeyOf(
  { apiKey, baseUrl }: Pick<Environment, "apiKey" | "baseUrl">,
  allowedBaseUrls: readonly string[] | undefined,
): EnvironmentKey | undefined {
  if (apiKey === undefined) return undefined;
  return {
    text: apiKey,
    isFor: (url) =>
      (baseUrl !== undefined && isSame(baseUrl, url)) ||
      (allowedBaseUrls !== undefined && isAllowedBaseUrl(allowedBaseUrls, url)),
  };
}

function isSame(a: string, b: string): boolean {
  const [one, other] = [normalizeBaseUrl(a), normalizeBaseUrl(b)];
  return one.ok && other.ok && one.value.origin === other.value.origin && one.value.path === other.value.path;
}
