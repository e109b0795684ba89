// Coordinates several processes on one machine that use the same key: the interface for lanes.
import type { ApiKey } from "../model/api-key.ts";

export type KeyLockOutcome =
  | { readonly state: "Held"; readonly release: () => Promise<void> }
  /** The signal aborted. */
  | { readonly state: "Aborted" }
  /** `by` describes the other process. */
  | { readonly state: "Busy"; readonly by: string };

/** Held during one call: other processes can run between two calls. */
export interface KeyLock {
  /** Never rejects. */
  acquire(signal?: AbortSignal): Promise<KeyLockOutcome>;
}

export type KeyLocks = (key: ApiKey) => KeyLock;
