// Tells waiters that something changed, without telling what: they look for themselves. The version makes sure that a
// change between the look and the wait is not missed.

export class ChangeSignal {
  #version = 0;
  readonly #waiters = new Set<() => void>();

  /** Take this before looking at whatever the signal is about, and pass it to `wait`. */
  get version(): number {
    return this.#version;
  }

  /** Wakes everybody who waits. */
  notify(): void {
    this.#version += 1;
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const wake of waiters) wake();
  }

  /**
   * Resolves with the current version as soon as it differs from `sinceVersion`, or when the signal aborts: never
   * rejects, so look at the signal afterwards.
   */
  async wait(sinceVersion: number, signal?: AbortSignal): Promise<number> {
    if (this.#version === sinceVersion && signal?.aborted !== true) {
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.#waiters.delete(wake);
          signal?.removeEventListener("abort", wake);
          resolve();
        };
        this.#waiters.add(wake);
        signal?.addEventListener("abort", wake, { once: true });
      });
    }
    return this.#version;
  }
}
