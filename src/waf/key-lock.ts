// The interface by which lanes coordinate several processes on one machine that use the same key.
import type { ApiKey } from "../model/api-key.ts";

export type KeyLockOutcome =
  | { readonly state: "Held" }
  /** The signal aborted. */
  | { readonly state: "Aborted" }
  /** `by` describes the other process. */
  | { readonly state: "Busy"; readonly by: string };

/** Held during consecutive calls. */
export interface KeyLock {
  /** Called before each call. If other processes wait, they may go first now and then. Never rejects. */
  enter(signal?: AbortSignal): Promise<KeyLockOutcome>;
  /** Called when no call follows immediately. */
  leave(): void;
}

export type KeyLocks = (key: ApiKey) => KeyLock;
