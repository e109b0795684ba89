// Takes all API keys that the process knows out of a text: the last thing that loggers and printers of errors do.
import type { ApiKey } from "./api-key.ts";

/** More keys than this are never held; those not seen for longest go first. */
export const redactorKeysMax = 2000;

export class Redactor {
  readonly #keys = new Map<string, ApiKey>();
  #longestFirst: readonly ApiKey[] | undefined = [];

  /** From now on the key is redacted. Adding it again keeps it from being forgotten. */
  add(key: ApiKey): void {
    const fingerprint = key.fingerprint();
    const isNew = !this.#keys.delete(fingerprint);
    this.#keys.set(fingerprint, key);
    if (!isNew) return;
    this.#longestFirst = undefined;
    const oldest = this.#keys.keys().next();
    if (this.#keys.size > redactorKeysMax && oldest.done !== true) this.#keys.delete(oldest.value);
  }

  /** The text without any of the keys. A key that holds another one inside is replaced as a whole. */
  redact(text: string): string {
    this.#longestFirst ??= [...this.#keys.values()].sort((a, b) => b.reveal().length - a.reveal().length);
    return this.#longestFirst.reduce((redacted, key) => key.redact(redacted), text);
  }
}
