// Wakes waiters when something has changed, without details about the change. The version ensures that a waiter does not miss a
// change between its read and its wait.
import { EventEmitter, once } from "node:events";

export class ChangeSignal {
  #version = 0;
  readonly #changes = new EventEmitter();

  /** Read this before the state that the signal is about, and pass it to `wait`. */
  get version(): number {
    return this.#version;
  }

  /** Wakes all waiters. */
  notify(): void {
    this.#version += 1;
    this.#changes.emit("change");
  }

  /**
   * Resolves with the current version as soon as it differs from `sinceVersion`, or when the signal aborts: never
   * rejects, so check the signal afterwards.
   */
  async wait(sinceVersion: number, signal?: AbortSignal): Promise<number> {
    if (this.#version === sinceVersion) await once(this.#changes, "change", { signal }).catch(() => undefined);
    return this.#version;
  }
}
