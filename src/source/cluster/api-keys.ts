// The API keys of all instances, from Secrets that are read by name and never listed. A key is read again when it is older than the
// instance's resync interval or when the WAF has refused it, so a rotated key needs no restart. The last valid key is kept while the API
// server does not answer.
import type { ApiServer } from "../../kube/api-server.ts";
import { ApiKey, apiKeyLengthMax, validateApiKey } from "../../model/api-key.ts";
import type { DeclaredInstance } from "../../model/declared.ts";
import type { GatheredKey } from "../../model/gathered.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";
import { asSentence } from "../../model/texts.ts";
import { keysInWords } from "../gather.ts";
import { type SourceObject, sourceKey } from "./cluster-object.ts";
import { type DataTexts, readData } from "./data-texts.ts";

/** Longer values are no keys, and not kept. */
const valueLengthMax = 16 * apiKeyLengthMax;

export interface ApiKeysOptions {
  readonly texts: Pick<DataTexts, "load" | "read" | "refresh">;
  /** Called when the last valid key of the instance has changed; `former` is undefined for the first one. */
  readonly onKey: (instance: ObjectName, former: ApiKey | undefined) => void;
}

interface Known {
  /** Identifies what the key belongs to: if the Secret, base URL or UID changes, nothing is kept. */
  readonly identity: string;
  readonly secret: SourceObject & { readonly kind: "Secret" };
  lastGood: ApiKey | undefined;
  /** The outcome of the last read; undefined before the first one began. */
  outcome: "Reading" | GatheredKey["state"] | undefined;
}

export class ApiKeys {
  readonly #options: ApiKeysOptions;
  readonly #known = new Map<string, Known>();

  constructor(options: ApiKeysOptions) {
    this.#options = options;
  }

  /** The key, at most `ageMsMax` old. Never rejects. */
  async read(instance: DeclaredInstance, ageMsMax: number): Promise<GatheredKey> {
    const { texts, onKey } = this.#options;
    const known = this.#knownOf(instance);
    // Another base URL never gets a key that was read for the former one: its Secret may be deleted by now.
    const isFresh = known.outcome === undefined;
    known.outcome ??= "Reading";
    await texts.load(known.secret, { lengthMax: valueLengthMax, ageMsMax, isFresh });
    const key = this.#keyOf(instance, known);
    known.outcome = key.state;
    const former = known.lastGood;
    if (key.state === "Missing" || key.key === former) return key;
    known.lastGood = key.key;
    // Do not report it if the instance was deleted or names another Secret since the request started.
    if (this.#known.get(nameKey(instance.meta)) !== known) return key;
    onKey(instance.meta, former);
    return key;
  }

  /** The last valid key of the instance. Reads nothing. */
  lastGood(instance: ObjectName): ApiKey | undefined {
    return this.#known.get(nameKey(instance))?.lastGood;
  }

  /** Whether the key of the instance was ever read, with any outcome, and its Secret and URL are unchanged. */
  wasTried(instance: DeclaredInstance): boolean {
    return this.#known.has(nameKey(instance.meta)) && this.#knownOf(instance).outcome !== undefined;
  }

  /** All instances whose last valid key is this one, by `namespace/name`. Reads nothing. */
  sharing(key: ApiKey): readonly string[] {
    const known = [...this.#known].filter(([, { lastGood }]) => lastGood?.fingerprint() === key.fingerprint());
    return known.map(([instance]) => instance);
  }

  /** The Secrets without a valid key, which are often completed after their instances. */
  missing(): SourceObject[] {
    return [...this.#known.values()].flatMap(({ outcome, secret }) => (outcome === "Missing" ? [secret] : []));
  }

  /** Makes the next `read` ask the API server. The last valid key is kept. */
  refresh(instance: ObjectName): void {
    const known = this.#known.get(nameKey(instance));
    if (known !== undefined) this.#options.texts.refresh(known.secret);
  }

  /** Call this after the instance was deleted. */
  forget(instance: ObjectName): void {
    this.#known.delete(nameKey(instance));
  }

  #knownOf({ meta, baseUrl, apiKeySecretRef: { name, key } }: DeclaredInstance): Known {
    const identity = [meta.uid, baseUrl, name, key].join(" ");
    const known = this.#known.get(nameKey(meta));
    if (known?.identity === identity) return known;
    const secret = { kind: "Secret", namespace: meta.namespace, name } as const;
    this.forget(meta);
    const fresh: Known = { identity, secret, lastGood: undefined, outcome: undefined };
    this.#known.set(nameKey(meta), fresh);
    return fresh;
  }

  #keyOf({ apiKeySecretRef: { key } }: DeclaredInstance, { secret: object, lastGood }: Known): GatheredKey {
    const missing = (problem: string): GatheredKey => ({ state: "Missing", problem });
    const secret = sourceKey(object);
    const { fault, texts } = this.#options.texts.read(object);
    if (fault?.code === "Forbidden") {
      return missing(
        `${secret} may not be read: grant the service account of wafsync the right to get secrets in namespace ${object.namespace}. ${fault.message}`,
      );
    }
    // An error of the API server says nothing about the key.
    if (fault !== undefined && lastGood !== undefined) return { state: "Present", key: lastGood };
    if (fault !== undefined) return missing(`${secret} could not be read: ${fault.message}. wafsync retries.`);
    if (texts === undefined) {
      return missing(`There is no ${secret}: create it with the API key as ${key}, or correct spec.apiKeySecretRef.`);
    }
    const value = texts.get(key);
    if (value === undefined) {
      return missing(
        `${secret} has no key ${key}: ${keysInWords(texts.keys())}. Add it, or set spec.apiKeySecretRef.key.`,
      );
    }
    const tooLong = { ok: false, problem: `is too long: at most ${apiKeyLengthMax} characters are allowed` } as const;
    const validated = value.state === "Read" ? validateApiKey(value.text) : tooLong;
    if (!validated.ok) return missing(`The API key, ${key} of ${secret}, ${validated.problem}.`);
    const isSame = validated.key.fingerprint() === lastGood?.fingerprint();
    return { state: "Present", key: isSame ? lastGood : validated.key };
  }
}

/** Reads one value of a Secret on demand, without a cache. A problem names the Secret but contains none of its values. */
export async function readSecretValue(
  api: ApiServer,
  namespace: string,
  { name, key }: { readonly name: string; readonly key: string },
): Promise<{ readonly ok: true; readonly value: ApiKey } | { readonly ok: false; readonly problem: string }> {
  const object = { kind: "Secret", namespace, name } as const;
  const read = await readData(api, object);
  if (!read.ok) {
    const why = read.fault.code === "NotFound" ? "does not exist" : `cannot be read: ${read.fault.message}`;
    return { ok: false, problem: asSentence(`${sourceKey(object)} ${why}`) };
  }
  const value = read.value.data.get(key);
  if (value === undefined) return { ok: false, problem: `${sourceKey(object)} has no key ${key}.` };
  return { ok: true, value: new ApiKey(value) };
}
