// The current and former keys of one WAF, as its answers may repeat them: an API that refuses a rotated key may quote it, and
// clients may have sent it to the protected site.
import type { ApiKey } from "../model/api-key.ts";
import { DecodedText } from "../model/decoded-text.ts";

/** Former keys that are still looked for in data. */
export const formerKeysMax = 4;

export class OwnKeys {
  readonly #keys: readonly ApiKey[];

  /** @param former the newest first */
  constructor(current: ApiKey, former: readonly ApiKey[] = []) {
    this.#keys = [current, ...former.slice(0, formerKeysMax)];
  }

  redact(text: string): string {
    return this.#keys.reduce((redacted, key) => key.redact(redacted), text);
  }

  occursIn(text: string): boolean {
    return occurs(this.#keys, text);
  }

  /** The same, but short keys do not count: they turn up in hosts and addresses by chance, which shows nothing. */
  areShownBy(text: string): boolean {
    return occurs(
      this.#keys.filter(({ isDistinctive }) => isDistinctive),
      text,
    );
  }
}

function occurs(keys: readonly ApiKey[], text: string): boolean {
  const decoded = new DecodedText(text);
  return keys.some((key) => key.isIn(decoded));
}
