// Keeps the lock of a key between calls that follow one another, because taking it takes longer than the gap between two calls.
// Whether another process wants the key is found out now and then while a call is in flight, and then the lock is released after
// that call.
import type { Clock } from "../async/clock.ts";
import type { HeldKeyLock, KeyLock, KeyLockOutcome } from "./key-lock.ts";

export type Unlocked = Exclude<KeyLockOutcome, { state: "Held" }>;

/** How long another process may have to wait for the end of the call after which the lock is released. */
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

  /** Runs `act` with the lock; `otherwise` gives the result if the lock is not to be had. One call at a time. */
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

  /** After the request was written, which takes a turn of the event loop. No call waits for the result. */
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

  /** Undefined if the lock is held afterwards. */
  async #take(stop: () => AbortSignal): Promise<Unlocked | undefined> {
    await this.#releasing;
    const outcome = await this.#lock.acquire(stop());
    if (outcome.state !== "Held") return outcome;
    this.#held = outcome;
    this.#checkedMs = this.#clock.monotonicMs();
    return undefined;
  }
}
