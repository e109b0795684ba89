// Wakes waiters when something has changed, without details about the change. The version ensures that a waiter does not miss a
// change between its read and its wait.

export class ChangeSignal {
  #version = 0;
  readonly #waiters = new Set<() => void>();

  /** Read this before the state that the signal is about, and pass it to `wait`. */
  get version(): number {
    return this.#version;
  }

  /** Wakes all waiters. */
  notify(): void {
    this.#version += 1;
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const wake of waiters) wake();
  }

  /**
   * Resolves with the current version as soon as it differs from `sinceVersion`, or when the signal aborts: never
   * rejects, so check the signal afterwards.
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
