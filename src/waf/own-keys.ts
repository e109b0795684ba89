// The current and former keys of one WAF. Its responses may contain them: an API that rejects a rotated key may quote it, and
// clients may have sent it to the protected site.
import type { ApiKey } from "../model/api-key.ts";
import { DecodedText } from "../model/decoded-text.ts";

/** The maximum number of former keys that are searched for in data. */
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

  /** Like `occursIn`, but ignores short keys, which occur in hosts and addresses by chance. */
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
