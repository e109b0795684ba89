// Redacts all API keys that the process knows, including former ones, as the last step before a string leaves the process. For
// speed, a string is searched only for keys of which it contains a fragment.
import { type ApiKey, redactedKey } from "./api-key.ts";
import { DecodedText } from "./decoded-text.ts";
import { replaceRanges } from "./secret-finder.ts";

/** More keys than this are never held; those not seen for longest go first. */
export const redactorKeysMax = 2000;
/** The length of the fragment of a key. */
const gramLength = 4;

export class Redactor {
  readonly #keys = new Map<string, ApiKey>();
  /** The keys by their fragments, for each spelling without escapes. */
  readonly #byGram = new Map<string, Set<ApiKey>>();
  /** Keys without a fragment, which are searched in every string. */
  readonly #always = new Set<ApiKey>();

  /** From now on the key is redacted. Adding it again keeps it from being forgotten. */
  add(key: ApiKey): void {
    const fingerprint = key.fingerprint();
    const known = this.#keys.get(fingerprint);
    this.#keys.delete(fingerprint);
    this.#keys.set(fingerprint, known ?? key);
    if (known !== undefined) return;
    this.#index(key);
    const oldest = this.#keys.entries().next();
    if (this.#keys.size > redactorKeysMax && oldest.done !== true) {
      this.#keys.delete(oldest.value[0]);
      this.#unindex(oldest.value[1]);
    }
  }

  /** The text without any of the keys. A key that holds another one inside is replaced as a whole. */
  redact(text: string): string {
    if (this.#keys.size === 0) return text;
    const decoded = new DecodedText(text);
    const shown = [...this.#candidates(decoded)].flatMap((key) => key.findIn(decoded));
    return replaceRanges(text, shown, redactedKey);
  }

  #candidates(text: DecodedText): Iterable<ApiKey> {
    if (text.hidesLetters) return this.#keys.values();
    const candidates = new Set(this.#always);
    const { folded } = text.plain;
    for (let start = 0; start + gramLength <= folded.length; start += 1) {
      for (const key of this.#byGram.get(folded.slice(start, start + gramLength)) ?? []) candidates.add(key);
    }
    return candidates;
  }

  #index(key: ApiKey): void {
    const grams = gramsOf(key);
    if (grams === undefined) this.#always.add(key);
    for (const gram of grams ?? []) {
      const keys = this.#byGram.get(gram) ?? new Set<ApiKey>();
      this.#byGram.set(gram, keys.add(key));
    }
  }

  #unindex(key: ApiKey): void {
    this.#always.delete(key);
    for (const gram of gramsOf(key) ?? []) {
      const keys = this.#byGram.get(gram);
      keys?.delete(key);
      if (keys?.size === 0) this.#byGram.delete(gram);
    }
  }
}

/** One fragment of each spelling: its end, because keys often have a common prefix. Undefined if a spelling is too short. */
function gramsOf(key: ApiKey): readonly string[] | undefined {
  const runs = key.runs();
  if (runs.some((run) => run.length < gramLength)) return undefined;
  return runs.map((run) => run.slice(-gramLength).toLowerCase());
}
