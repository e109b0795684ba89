// The API key for the single instance of a folder whose Secret is not in the folder.
import type { DeclaredInstance } from "../../model/declared.ts";
import { nameKey } from "../../model/resource.ts";
import { listed } from "../../model/sentence.ts";
import type { DirectorySnapshot } from "./snapshot.ts";

export interface EnvironmentKey {
  readonly text: string;
  /** Whether the key may be sent to this base URL: it is never sent to any other URL. */
  readonly isFor: (baseUrl: string) => boolean;
}

const namesShownMax = 5;

/** Why the instance, which has no Secret in the folder, does not get the key, as a partial sentence; undefined if it does. */
export function environmentKeyObjection(
  { instances, secrets }: DirectorySnapshot,
  { baseUrl }: DeclaredInstance,
  { isFor }: EnvironmentKey,
): string | undefined {
  if (!isFor(baseUrl)) {
    return `and the API key in the environment variable WAFSYNC_API_KEY is not for ${baseUrl}: if it should be, set WAFSYNC_BASE_URL or --allowed-base-urls to this URL.`;
  }
  const takers = [...instances.values()].filter(
    (one) => isFor(one.baseUrl) && !secrets.has(nameKey({ ...one.meta, name: one.apiKeySecretRef.name })),
  );
  if (takers.length === 1) return undefined;
  const names = takers.map(({ meta }) => nameKey(meta)).sort();
  return `and the API key in the environment variable WAFSYNC_API_KEY is for only one instance, but ${listed(names, namesShownMax)} have no Secret: add their Secrets.`;
}
