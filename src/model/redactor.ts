// Redacts all API keys that the process knows, including former ones, as the last step before a string leaves the process. For
// speed, a string is searched only for keys of which it contains a fragment. No owner of keys can slow down the search for all:
// only the newest keys of each owner are known. If there are too many in all, the namespace with the most keys loses one.
import { type ApiKey, redactedKey } from "./api-key.ts";
import { DecodedText } from "./decoded-text.ts";
import { replaceRanges } from "./secret-finder.ts";

/** The maximum number of keys; those that a namespace has not added for the longest time are dropped first. */
export const redactorKeysMax = 2000;
/** The keys of one owner: the current one and former ones, or the parts of one header. */
export const keysOfOwnerMax = 16;
/** The length of the fragment of a key. */
const gramLength = 4;

/** An instance, a feed, or one header of a feed. */
export interface KeyOwner {
  readonly namespace: string;
  /** Unique within the namespace. */
  readonly name: string;
}

/** The user who runs the command. */
const user: KeyOwner = { namespace: "", name: "" };

interface Known {
  readonly key: ApiKey;
  /** The namespace of each owner. */
  readonly owners: Map<string, string>;
}

export class Redactor {
  readonly #keys = new Map<string, Known>();
  /** The fingerprints of each owner's keys, the oldest first. */
  readonly #byOwner = new Map<string, string[]>();
  /** The fingerprints of each namespace's keys, the least recently added first. */
  readonly #byNamespace = new Map<string, Set<string>>();
  /** The keys by their fragments, for each spelling without escapes. */
  readonly #byGram = new Map<string, Set<ApiKey>>();
  /** Keys without a fragment: every string is searched for them. */
  readonly #always = new Set<ApiKey>();

  /**
   * Redacts the key from now on. Adding it again keeps it from being dropped.
   *
   * @param owner omit it for keys of the user who runs the command
   */
  add(key: ApiKey, owner: KeyOwner = user): void {
    const fingerprint = key.fingerprint();
    const known = this.#keys.get(fingerprint) ?? { key, owners: new Map<string, string>() };
    if (!this.#keys.has(fingerprint)) this.#index(key);
    this.#keys.set(fingerprint, known);
    this.#own(fingerprint, known, owner);
    if (this.#keys.size > redactorKeysMax) this.#forgetOne();
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

  #own(fingerprint: string, { owners }: Known, { namespace, name }: KeyOwner): void {
    const recent = this.#byNamespace.get(namespace) ?? new Set<string>();
    this.#byNamespace.set(namespace, recent);
    recent.delete(fingerprint);
    recent.add(fingerprint);
    const owner = `${namespace}/${name}`;
    if (owners.has(owner)) return;
    owners.set(owner, namespace);
    const owned = this.#byOwner.get(owner) ?? [];
    this.#byOwner.set(owner, owned);
    owned.push(fingerprint);
    const oldest = namespace !== user.namespace && owned.length > keysOfOwnerMax ? owned.shift() : undefined;
    if (oldest !== undefined) this.#disown(oldest, owner);
  }

  #disown(fingerprint: string, owner: string): void {
    const known = this.#keys.get(fingerprint);
    const namespace = known?.owners.get(owner);
    if (known === undefined || namespace === undefined) return;
    known.owners.delete(owner);
    if (known.owners.size === 0) return this.#forget(fingerprint, [namespace]);
    if (![...known.owners.values()].includes(namespace)) this.#byNamespace.get(namespace)?.delete(fingerprint);
  }

  #forgetOne(): void {
    let most = new Set<string>();
    for (const fingerprints of this.#byNamespace.values()) if (fingerprints.size > most.size) most = fingerprints;
    const [oldest] = most;
    const known = oldest === undefined ? undefined : this.#keys.get(oldest);
    if (oldest === undefined || known === undefined) return;
    for (const owner of known.owners.keys()) {
      const rest = (this.#byOwner.get(owner) ?? []).filter((one) => one !== oldest);
      if (rest.length === 0) this.#byOwner.delete(owner);
      else this.#byOwner.set(owner, rest);
    }
    this.#forget(oldest, known.owners.values());
  }

  #forget(fingerprint: string, namespaces: Iterable<string>): void {
    const known = this.#keys.get(fingerprint);
    if (known !== undefined) this.#unindex(known.key);
    this.#keys.delete(fingerprint);
    for (const namespace of namespaces) {
      const fingerprints = this.#byNamespace.get(namespace);
      fingerprints?.delete(fingerprint);
      if (fingerprints?.size === 0) this.#byNamespace.delete(namespace);
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
