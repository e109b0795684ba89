// Turns of several processes of one machine that use the same key: what a lane needs of them.
import type { ApiKey } from "../model/api-key.ts";

export type KeyLockOutcome =
  | { readonly state: "Held"; readonly release: () => Promise<void> }
  /** The signal aborted. */
  | { readonly state: "Aborted" }
  /** `by` names the other process, in words. */
  | { readonly state: "Busy"; readonly by: string };

/** Held during one call: other processes come in between two calls. */
export interface KeyLock {
  /** Never rejects. */
  acquire(signal?: AbortSignal): Promise<KeyLockOutcome>;
}

export type KeyLocks = (key: ApiKey) => KeyLock;
