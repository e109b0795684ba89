// What to do about a refused key, in the words of the instance that declares it.
import type { DeclaredInstance } from "../model/declared.ts";
import type { WafFault } from "../model/waf-result.ts";

export interface DeclaredKey {
  readonly instance: Pick<DeclaredInstance, "meta" | "apiKeySecretRef">;
  /** In a folder, the key may also come from the environment. */
  readonly isInFolder: boolean;
}

/** wafsync always sends a key. */
export const removedQuery = "Check whether a proxy removes the query of requests.";

/** One sentence that says where the key comes from; undefined if the fault has another cause. */
export function keyHint({ code }: WafFault, { instance, isInFolder }: DeclaredKey): string | undefined {
  if (code === "MissingApiKey") return removedQuery;
  if (code !== "BadApiKey") return undefined;
  const { meta, apiKeySecretRef: secret } = instance;
  const place = `Secret ${meta.namespace}/${secret.name} (spec.apiKeySecretRef) as ${secret.key}`;
  const other = isInFolder ? ", or into WAFSYNC_API_KEY next to WAFSYNC_BASE_URL" : "";
  return `Put a valid key into ${place}${other}.`;
}
