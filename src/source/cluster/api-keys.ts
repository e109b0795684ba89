// The API keys of all instances, from Secrets that are read one at a time and never listed. A key is read again when it
// is older than the instance's resync interval or when the WAF has refused it, so a rotated key needs no restart. The
// last valid key is kept until the instance is deleted, for the cleanup if its Secret is deleted first.
import type { Clock } from "../../async/clock.ts";
import type { ApiFault } from "../../kube/api-result.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import { isRecord, type KubeObject } from "../../kube/kube-object.ts";
import { getObject } from "../../kube/verbs.ts";
import { ApiKey, validateApiKey } from "../../model/api-key.ts";
import type { DeclaredInstance } from "../../model/declared.ts";
import type { GatheredKey } from "../../model/gathered.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";
import { asSentence } from "../../model/sentence.ts";
import { keysInWords } from "../gather.ts";
import { secretType } from "./cluster-object.ts";

const requestTimeoutMs = 10_000;
/** The number of missing keys that `retry` reads again: those that were not read for the longest time. */
const retriesMax = 20;

export interface ApiKeysOptions {
  readonly api: ApiServer;
  readonly clock: Pick<Clock, "monotonicMs">;
  /** Called when the last valid key of the instance has changed; `former` is undefined for the first one. */
  readonly onKey: (instance: ObjectName, former: ApiKey | undefined) => void;
  /** Called when `retry` finds a key, or another reason why it is missing. */
  readonly onRetried?: (instance: ObjectName) => void;
}

interface Known {
  /** Identifies what the key belongs to: if the Secret, base URL or UID changes, nothing is kept. */
  readonly identity: string;
  readonly instance: DeclaredInstance;
  lastGood: ApiKey | undefined;
  result: GatheredKey | undefined;
  /** When the request for `result` started. */
  readAtMs: number;
  reading: Promise<GatheredKey> | undefined;
  /** When it was last requested, with any outcome; undefined if never. */
  triedAtMs: number | undefined;
  /** The outcome of that request. */
  outcome: GatheredKey | undefined;
}

export class ApiKeys {
  readonly #options: ApiKeysOptions;
  readonly #known = new Map<string, Known>();

  constructor(options: ApiKeysOptions) {
    this.#options = options;
  }

  /** The key, at most `ageMsMax` old. Never rejects. */
  async read(instance: DeclaredInstance, ageMsMax: number): Promise<GatheredKey> {
    const known = this.#knownOf(instance);
    if (known.reading !== undefined) return await known.reading;
    const nowMs = this.#options.clock.monotonicMs();
    if (known.result !== undefined && nowMs - known.readAtMs < ageMsMax) return known.result;
    known.reading = this.#readAnew(instance, known, nowMs).finally(() => (known.reading = undefined));
    known.outcome = await known.reading;
    return known.outcome;
  }

  /** Reads the key unless a read was tried before, with any outcome. */
  async ensureTried(instance: DeclaredInstance): Promise<void> {
    if (!this.wasTried(instance)) await this.read(instance, Number.POSITIVE_INFINITY);
  }

  /** The last valid key of the instance. Reads nothing. */
  lastGood(instance: ObjectName): ApiKey | undefined {
    return this.#known.get(nameKey(instance))?.lastGood;
  }

  /** Whether the key of the instance was ever read, and its Secret and URL are unchanged. */
  wasTried(instance: DeclaredInstance): boolean {
    return this.#knownOf(instance).triedAtMs !== undefined;
  }

  /** All instances whose last valid key is this one, by `namespace/name`. Reads nothing. */
  sharing(key: ApiKey): readonly string[] {
    const print = key.fingerprint();
    return [...this.#known].flatMap(([name, { lastGood }]) => (lastGood?.fingerprint() === print ? [name] : []));
  }

  /** Makes the next `read` ask the API server. The last valid key is kept. */
  refresh(instance: ObjectName): void {
    const known = this.#known.get(nameKey(instance));
    if (known !== undefined) known.result = undefined;
  }

  /** Reads missing keys again, because a Secret is often created after its instance. Never rejects. */
  async retry(): Promise<void> {
    const missing = [...this.#known.values()].filter(({ outcome }) => outcome?.state === "Missing");
    const due = missing.toSorted((a, b) => (a.triedAtMs ?? 0) - (b.triedAtMs ?? 0)).slice(0, retriesMax);
    await Promise.all(
      due.map(async ({ instance, outcome: before }) => {
        const key = await this.read(instance, 0);
        const isSame = key.state === "Missing" && before?.state === "Missing" && key.problem === before.problem;
        if (!isSame) this.#options.onRetried?.(instance.meta);
      }),
    );
  }

  /** Call this after the instance was deleted. */
  forget(instance: ObjectName): void {
    this.#known.delete(nameKey(instance));
  }

  #knownOf(instance: DeclaredInstance): Known {
    const { meta, baseUrl, apiKeySecretRef } = instance;
    const key = nameKey(meta);
    const identity = [meta.uid, baseUrl, apiKeySecretRef.name, apiKeySecretRef.key].join(" ");
    const known = this.#known.get(key);
    if (known?.identity === identity) return known;
    const fresh: Known = {
      identity,
      instance,
      lastGood: undefined,
      result: undefined,
      readAtMs: 0,
      reading: undefined,
      triedAtMs: undefined,
      outcome: undefined,
    };
    this.#known.set(key, fresh);
    return fresh;
  }

  async #readAnew(instance: DeclaredInstance, known: Known, nowMs: number): Promise<GatheredKey> {
    const { api } = this.#options;
    known.triedAtMs = nowMs;
    const address = { namespace: instance.meta.namespace, name: instance.apiKeySecretRef.name };
    const read = await getObject<SecretObject>(api, secretType, address, { timeoutMs: requestTimeoutMs });
    if (!read.ok && !isAnswer(read.fault)) {
      // An error of the API server says nothing about the key: the next `read` retries.
      if (known.lastGood !== undefined) return { state: "Present", key: known.lastGood };
      return { state: "Missing", problem: unreadable(address, read.fault) };
    }
    const result = read.ok ? keyOf(read.value, instance) : missing(instance, read.fault);
    known.readAtMs = nowMs;
    known.result = result;
    if (result.state === "Present") return this.#take(instance, known, result);
    return result;
  }

  #take(instance: DeclaredInstance, known: Known, result: Extract<GatheredKey, { state: "Present" }>): GatheredKey {
    const former = known.lastGood;
    if (former?.fingerprint() === result.key.fingerprint()) {
      known.result = { state: "Present", key: former };
      return known.result;
    }
    known.lastGood = result.key;
    const { namespace, name } = instance.meta;
    const ownName = nameKey(instance.meta);
    // Do not report it if the instance was deleted or names another Secret since the request started.
    if (this.#known.get(ownName) !== known) return result;
    this.#options.onKey({ namespace, name }, former);
    return result;
  }
}

interface SecretObject extends KubeObject {
  readonly data?: unknown;
}

function keyOf({ data }: SecretObject, { meta, apiKeySecretRef }: DeclaredInstance): GatheredKey {
  const secret = `Secret ${meta.namespace}/${apiKeySecretRef.name}`;
  const entries = isRecord(data) ? data : {};
  const encoded = Object.hasOwn(entries, apiKeySecretRef.key) ? entries[apiKeySecretRef.key] : undefined;
  if (typeof encoded !== "string") {
    const problem = `${secret} has no key ${apiKeySecretRef.key}: ${keysInWords(Object.keys(entries))}. Add it, or set spec.apiKeySecretRef.key.`;
    return { state: "Missing", problem };
  }
  const validated = validateApiKey(Buffer.from(encoded, "base64").toString("utf8"));
  if (validated.ok) return { state: "Present", key: validated.key };
  const problem = `The API key, ${apiKeySecretRef.key} of ${secret}, ${validated.problem}.`;
  return { state: "Missing", problem };
}

/** Whether the API server has responded conclusively, even negatively. */
function isAnswer({ code }: ApiFault): boolean {
  return code === "NotFound" || code === "Forbidden";
}

function missing({ meta, apiKeySecretRef }: DeclaredInstance, fault: ApiFault): GatheredKey {
  const secret = `${meta.namespace}/${apiKeySecretRef.name}`;
  const problem =
    fault.code === "NotFound"
      ? `There is no Secret ${secret}: create it with the API key as ${apiKeySecretRef.key}, or correct spec.apiKeySecretRef.`
      : `Secret ${secret} may not be read: grant the service account of wafsync the right to get secrets in namespace ${meta.namespace}. ${fault.message}`;
  return { state: "Missing", problem };
}

function unreadable({ namespace, name }: ObjectName, fault: ApiFault): string {
  return `Secret ${namespace}/${name} could not be read: ${fault.message}. wafsync retries.`;
}

export type SecretValue =
  | { readonly ok: true; readonly value: ApiKey }
  /** A sentence that names the Secret but contains none of its values. */
  | { readonly ok: false; readonly problem: string };

/** Reads one value of a Secret on demand, without a cache. */
export async function readSecretValue(
  api: ApiServer,
  namespace: string,
  { name, key }: { readonly name: string; readonly key: string },
): Promise<SecretValue> {
  const secret = `Secret ${nameKey({ namespace, name })}`;
  const read = await getObject<SecretObject>(api, secretType, { namespace, name }, { timeoutMs: requestTimeoutMs });
  if (!read.ok) {
    const why = read.fault.code === "NotFound" ? "does not exist" : `cannot be read: ${read.fault.message}`;
    return { ok: false, problem: asSentence(`${secret} ${why}`) };
  }
  const { data } = read.value;
  const encoded = isRecord(data) && Object.hasOwn(data, key) ? data[key] : undefined;
  if (typeof encoded !== "string") return { ok: false, problem: `${secret} has no key ${key}.` };
  return { ok: true, value: new ApiKey(Buffer.from(encoded, "base64").toString("utf8")) };
}
