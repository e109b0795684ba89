// The interface by which lanes coordinate several processes on one machine that use the same key.
import type { ApiKey } from "../model/api-key.ts";

export interface HeldKeyLock {
  readonly release: () => Promise<void>;
  /** Whether another process is waiting for the key. Never rejects. */
  readonly isWanted: () => Promise<boolean>;
}

export type KeyLockOutcome =
  | ({ readonly state: "Held" } & HeldKeyLock)
  /** The signal aborted. */
  | { readonly state: "Aborted" }
  /** `by` describes the other process. */
  | { readonly state: "Busy"; readonly by: string };

/** Held during consecutive calls, and released between two calls as soon as another process wants it. */
export interface KeyLock {
  /** Never rejects. */
  acquire(signal?: AbortSignal): Promise<KeyLockOutcome>;
}

export type KeyLocks = (key: ApiKey) => KeyLock;
