// Which base URLs the operator may call. A user who may create a WafInstance must not make it call internal addresses.
import { isPublicAddress } from "../net/address-policy.ts";
import { refusedLiteral } from "../net/checked-lookup.ts";
import { normalizeBaseUrl } from "../waf/base-url.ts";
import { checkedClients, openClient } from "../waf/connection.ts";
import type { OpenTransport } from "../waf/connection.ts";

export interface BaseUrlPolicy {
  readonly allowInsecureHttp: boolean;
  /** Allowed prefixes, for example `https://api.waf.example/`; undefined allows all. */
  readonly allowedBaseUrls: readonly string[] | undefined;
  /** Whether base URLs may lead to loopback, private, link-local and other inner addresses that `allowedBaseUrls` does not name. */
  readonly allowPrivateNetworks: boolean;
}

/** How the operator connects to the base URLs that have no objection. Names are checked when they are resolved. */
export function connectionsOf(policy: BaseUrlPolicy): { readonly open: OpenTransport; readonly hidesCause: boolean } {
  return {
    open: mayBeInner(policy) ? openClient : checkedClients({ isAllowed: isPublicAddress }),
    // Whoever runs the operator chose the URLs that it allows by name; any other was chosen by a user who may explore the network.
    hidesCause: policy.allowedBaseUrls === undefined,
  };
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
  if (allowed !== undefined && !isAllowedBaseUrl(allowed, baseUrl)) {
    return `spec.baseUrl ${baseUrl} is not one of the allowed base URLs (--allowed-base-urls ${allowed.join(",")}).`;
  }
  if (mayBeInner(policy) || !namesInnerHost(baseUrl)) return undefined;
  return `spec.baseUrl ${baseUrl} is an internal address: set the public URL of the WAF's API, or start wafsync with --allowed-base-urls ${normalized.value.origin} or --allow-private-networks.`;
}

/** A base URL that `--allowed-base-urls` names was chosen by whoever runs wafsync, and may be anywhere. */
function mayBeInner({ allowPrivateNetworks, allowedBaseUrls }: BaseUrlPolicy): boolean {
  return allowPrivateNetworks || allowedBaseUrls !== undefined;
}

/** Whether the URL says so itself: names other than localhost are judged by the addresses that they have. */
function namesInnerHost(baseUrl: string): boolean {
  const { hostname } = new URL(baseUrl);
  return /(?:^|\.)localhost\.?$/.test(hostname) || refusedLiteral(hostname, isPublicAddress) !== undefined;
}

/** The value of `--allowed-base-urls`. */
export function readAllowedBaseUrls(text: string | undefined): readonly string[] | undefined {
  return text?.split(",").map((url) => url.trim());
}

/** Whether the base URL is one of these, or below one. */
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
