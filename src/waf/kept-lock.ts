// Keeps the lock of a key between calls that follow one another, because taking it takes longer than the gap between two calls.
// Whether another process wants the key is found out while a call is in flight, and then the lock is released after that call.
import type { HeldKeyLock, KeyLock, KeyLockOutcome } from "./key-lock.ts";

export type Unlocked = Exclude<KeyLockOutcome, { state: "Held" }>;

export class KeptLock {
  readonly #lock: KeyLock;
  #held: HeldKeyLock | undefined;
  #releasing: Promise<void> | undefined;

  constructor(lock: KeyLock) {
    this.#lock = lock;
  }

  get isHeld(): boolean {
    return this.#held !== undefined;
  }

  /** Runs `act` with the lock; `otherwise` gives the result if the lock is not to be had. One call at a time. */
  async during<T>(stop: () => AbortSignal, act: () => Promise<T>, otherwise: (why: Unlocked) => T): Promise<T> {
    const outcome = await this.#take(stop);
    if (outcome !== undefined) return otherwise(outcome);
    const isWanted = this.#held?.isWanted();
    try {
      return await act();
    } finally {
      if ((await isWanted) === true) await this.release();
    }
  }

  async release(): Promise<void> {
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined) this.#releasing = held.release().finally(() => (this.#releasing = undefined));
    await this.#releasing;
  }

  /** Undefined if the lock is held afterwards. */
  async #take(stop: () => AbortSignal): Promise<Unlocked | undefined> {
    if (this.#held !== undefined) return undefined;
    await this.#releasing;
    const outcome = await this.#lock.acquire(stop());
    if (outcome.state !== "Held") return outcome;
    this.#held = outcome;
    return undefined;
  }
}
