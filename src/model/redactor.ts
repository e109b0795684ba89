// Takes all API keys that the process knows out of a text: the last thing that loggers and printers of errors do.
import { type ApiKey, redactedKey } from "./api-key.ts";
import { DecodedText } from "./decoded-text.ts";
import { replaceRanges } from "./secret-finder.ts";

/** More keys than this are never held; those not seen for longest go first. */
export const redactorKeysMax = 2000;

export class Redactor {
  readonly #keys = new Map<string, ApiKey>();

  /** From now on the key is redacted. Adding it again keeps it from being forgotten. */
  add(key: ApiKey): void {
    const fingerprint = key.fingerprint();
    this.#keys.delete(fingerprint);
    this.#keys.set(fingerprint, key);
    const oldest = this.#keys.keys().next();
    if (this.#keys.size > redactorKeysMax && oldest.done !== true) this.#keys.delete(oldest.value);
  }

  /** The text without any of the keys. A key that holds another one inside is replaced as a whole. */
  redact(text: string): string {
    if (this.#keys.size === 0) return text;
    const decoded = new DecodedText(text);
    const shown = [...this.#keys.values()].flatMap((key) => key.findIn(decoded));
    return replaceRanges(text, shown, redactedKey);
  }
}
