// Redacts all API keys that the process knows, including former ones, as the last step before a string leaves the process. For
// speed, a string is searched only for keys of which it contains a fragment. No owner of keys can displace those of others or
// slow down the search for all: only the newest keys of each owner are known.
import { type ApiKey, redactedKey } from "./api-key.ts";
import { DecodedText } from "./decoded-text.ts";
import { replaceRanges } from "./secret-finder.ts";

/** The maximum number of keys; those that were not added for the longest time are dropped first. */
export const redactorKeysMax = 2000;
/** The keys of one owner: the current one and former ones, or the parts of one header. */
export const keysOfOwnerMax = 16;
/** The length of the fragment of a key. */
const gramLength = 4;

interface Known {
  readonly key: ApiKey;
  readonly owners: Set<string>;
}

export class Redactor {
  readonly #keys = new Map<string, Known>();
  /** The fingerprints of each owner's keys, the oldest first. */
  readonly #byOwner = new Map<string, string[]>();
  /** The keys by their fragments, for each spelling without escapes. */
  readonly #byGram = new Map<string, Set<ApiKey>>();
  /** Keys without a fragment: every string is searched for them. */
  readonly #always = new Set<ApiKey>();

  /**
   * Redacts the key from now on. Adding it again keeps it from being dropped.
   *
   * @param owner an instance, or one header of a feed; omit it for keys of the user who runs the command
   */
  add(key: ApiKey, owner?: string): void {
    const fingerprint = key.fingerprint();
    const known = this.#keys.get(fingerprint) ?? { key, owners: new Set() };
    const isNew = !this.#keys.delete(fingerprint);
    this.#keys.set(fingerprint, known);
    if (isNew) this.#index(key);
    if (!known.owners.has(owner ?? "")) this.#own(fingerprint, known, owner ?? "");
    const oldest = this.#keys.keys().next();
    if (this.#keys.size > redactorKeysMax && oldest.done !== true) this.#forget(oldest.value);
  }

  /** The string without any of the keys. A key that contains another one is replaced as a whole. */
  redact(text: string): string {
    if (this.#keys.size === 0) return text;
    const decoded = new DecodedText(text);
    const shown = [...this.#candidates(decoded)].flatMap((key) => key.findIn(decoded));
    return replaceRanges(text, shown, redactedKey);
  }

  #candidates(text: DecodedText): Iterable<ApiKey> {
    const candidates = new Set(this.#always);
    for (const { folded } of text.hidesLetters ? text.layers : [text.plain]) {
      for (let start = 0; start + gramLength <= folded.length; start += 1) {
        for (const key of this.#byGram.get(folded.slice(start, start + gramLength)) ?? []) candidates.add(key);
      }
    }
    return candidates;
  }

  #own(fingerprint: string, { owners }: Known, owner: string): void {
    const owned = this.#byOwner.get(owner) ?? [];
    this.#byOwner.set(owner, owned);
    owned.push(fingerprint);
    owners.add(owner);
    const oldest = owner !== "" && owned.length > keysOfOwnerMax ? owned.shift() : undefined;
    if (oldest === undefined) return;
    const known = this.#keys.get(oldest);
    known?.owners.delete(owner);
    if (known?.owners.size === 0) this.#forget(oldest);
  }

  #forget(fingerprint: string): void {
    const known = this.#keys.get(fingerprint);
    if (known === undefined) return;
    this.#keys.delete(fingerprint);
    this.#unindex(known.key);
    for (const owner of known.owners) {
      const rest = (this.#byOwner.get(owner) ?? []).filter((one) => one !== fingerprint);
      if (rest.length === 0) this.#byOwner.delete(owner);
      else this.#byOwner.set(owner, rest);
    }
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
