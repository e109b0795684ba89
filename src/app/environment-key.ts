// The API key of the environment, and where it may go. A folder says which URL a WAF has, and its author may be anybody whose
// pull request is planned: the key is sent only to a base URL that whoever set the key named as well.
import type { EnvironmentKey } from "../source/directory/environment-key.ts";
import { normalizeBaseUrl } from "../waf/base-url.ts";
import { isAllowedBaseUrl } from "./base-url-policy.ts";
import type { Environment } from "./config.ts";

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
