// Keeps the lock of a key between consecutive calls, because acquiring it takes longer than the gap between two calls. While a call
// is in flight, it checks at intervals whether another process wants the key. If so, it releases the lock after that call.
import type { Clock } from "../async/clock.ts";
import type { HeldKeyLock, KeyLock, KeyLockOutcome } from "./key-lock.ts";

export type Unlocked = Exclude<KeyLockOutcome, { state: "Held" }>;

/** The minimum time between two checks. Another process may have to wait this long, plus the time of a call. */
const checkIntervalMs = 10;

export class KeptLock {
  readonly #lock: KeyLock;
  readonly #clock: Pick<Clock, "monotonicMs">;
  #held: HeldKeyLock | undefined;
  #checkedMs = 0;
  #isChecking = false;
  #isWanted = false;
  #releasing: Promise<void> | undefined;

  constructor(lock: KeyLock, clock: Pick<Clock, "monotonicMs">) {
    this.#lock = lock;
    this.#clock = clock;
  }

  get isHeld(): boolean {
    return this.#held !== undefined;
  }

  /** Runs `act` with the lock, or returns the result of `otherwise` if the lock is unavailable. One call at a time. */
  async during<T>(stop: () => AbortSignal, act: () => Promise<T>, otherwise: (why: Unlocked) => T): Promise<T> {
    if (this.#held === undefined) {
      const unlocked = await this.#take(stop);
      if (unlocked !== undefined) return otherwise(unlocked);
    }
    const acting = act();
    this.#checkSoon();
    try {
      return await acting;
    } finally {
      if (this.#isWanted) await this.release();
    }
  }

  async release(): Promise<void> {
    const held = this.#held;
    this.#held = undefined;
    this.#isWanted = false;
    if (held !== undefined) this.#releasing = held.release().finally(() => (this.#releasing = undefined));
    await this.#releasing;
  }

  /** Checks after the request was sent, which takes a turn of the event loop. No call waits for the result. */
  #checkSoon(): void {
    const nowMs = this.#clock.monotonicMs();
    if (this.#isChecking || nowMs - this.#checkedMs < checkIntervalMs) return;
    this.#checkedMs = nowMs;
    this.#isChecking = true;
    setImmediate(() => void this.#check());
  }

  async #check(): Promise<void> {
    const held = this.#held;
    const isWanted = (await held?.isWanted()) === true;
    this.#isChecking = false;
    if (this.#held === held) this.#isWanted = isWanted;
  }

  /** Returns undefined if the lock was acquired. */
  async #take(stop: () => AbortSignal): Promise<Unlocked | undefined> {
    await this.#releasing;
    const outcome = await this.#lock.acquire(stop());
    if (outcome.state !== "Held") return outcome;
    this.#held = outcome;
    this.#checkedMs = this.#clock.monotonicMs();
    return undefined;
  }
}
