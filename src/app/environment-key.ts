// The API key from the environment, and its allowed destinations. The files in a folder choose the URL of a WAF, and their author
// may be the untrusted author of a pull request. The key is therefore sent only to a base URL from the environment or from
// the allowed base URLs.
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
