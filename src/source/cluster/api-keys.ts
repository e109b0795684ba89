// The API keys of all instances, from Secrets that are read one at a time and never listed. A key is read again when it
// is older than the instance's resync interval or when the WAF has refused it, so a rotated key needs no restart. The
// last valid key is kept until the instance is deleted, for the cleanup if its Secret is deleted first.
import type { Clock } from "../../async/clock.ts";
import type { ApiFault, ApiResult } from "../../kube/api-result.ts";
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
  /** The outcome of the last read. */
  outcome: GatheredKey | undefined;
  /** False if the API server did not answer, or if the WAF refused the key. */
  isCurrent: boolean;
  /** When the last read began; undefined if there was none. */
  triedAtMs: number | undefined;
  reading: Promise<GatheredKey> | undefined;
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
    const nowMs = this.#options.clock.monotonicMs();
    const { outcome, isCurrent, triedAtMs = 0 } = known;
    if (known.reading === undefined && outcome !== undefined && isCurrent && nowMs - triedAtMs < ageMsMax) {
      return outcome;
    }
    known.reading ??= this.#readAnew(known, nowMs).finally(() => (known.reading = undefined));
    return await known.reading;
  }

  /** The last valid key of the instance. Reads nothing. */
  lastGood(instance: ObjectName): ApiKey | undefined {
    return this.#known.get(nameKey(instance))?.lastGood;
  }

  /** Whether the key of the instance was ever read, with any outcome, and its Secret and URL are unchanged. */
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
    if (known !== undefined) known.isCurrent = false;
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
    const nothing = { lastGood: undefined, outcome: undefined, triedAtMs: undefined, reading: undefined };
    const fresh: Known = { identity, instance, isCurrent: false, ...nothing };
    this.#known.set(key, fresh);
    return fresh;
  }

  async #readAnew(known: Known, nowMs: number): Promise<GatheredKey> {
    known.triedAtMs = nowMs;
    const { meta, apiKeySecretRef } = known.instance;
    const { namespace, name } = meta;
    const read = await readSecret(this.#options.api, { namespace, name: apiKeySecretRef.name });
    // An error of the API server says nothing about the key: the next `read` retries.
    known.isCurrent = read.ok || read.fault.code === "NotFound" || read.fault.code === "Forbidden";
    const former = known.lastGood;
    if (!known.isCurrent && former !== undefined) known.outcome = { state: "Present", key: former };
    else known.outcome = read.ok ? keyOf(read.value, known.instance) : missingKey(known.instance, read.fault);
    if (known.outcome.state !== "Present" || known.outcome.key === former) return known.outcome;
    if (known.outcome.key.fingerprint() === former?.fingerprint()) {
      known.outcome = { state: "Present", key: former };
      return known.outcome;
    }
    known.lastGood = known.outcome.key;
    // Do not report it if the instance was deleted or names another Secret since the request started.
    if (this.#known.get(nameKey(meta)) === known) this.#options.onKey({ namespace, name }, former);
    return known.outcome;
  }
}

/** The values of a Secret. */
type SecretValues = ReadonlyMap<string, string>;

export async function readSecret(api: ApiServer, name: ObjectName): Promise<ApiResult<SecretValues>> {
  const options = { timeoutMs: requestTimeoutMs };
  const read = await getObject<KubeObject & { readonly data?: unknown }>(api, secretType, name, options);
  if (!read.ok) return read;
  const entries = Object.entries(isRecord(read.value.data) ? read.value.data : {});
  const decoded = entries.map(([key, value]) => [key, Buffer.from(String(value), "base64").toString("utf8")] as const);
  return { ...read, value: new Map(decoded) };
}

function keyOf(values: SecretValues, { meta, apiKeySecretRef: { name, key } }: DeclaredInstance): GatheredKey {
  const secret = `Secret ${meta.namespace}/${name}`;
  const value = values.get(key);
  if (value === undefined) {
    const problem = `${secret} has no key ${key}: ${keysInWords(values.keys())}. Add it, or set spec.apiKeySecretRef.key.`;
    return { state: "Missing", problem };
  }
  const validated = validateApiKey(value);
  if (validated.ok) return { state: "Present", key: validated.key };
  return { state: "Missing", problem: `The API key, ${key} of ${secret}, ${validated.problem}.` };
}

function missingKey({ meta: { namespace }, apiKeySecretRef: { name, key } }: DeclaredInstance, fault: ApiFault) {
  const secret = `Secret ${namespace}/${name}`;
  const problem = {
    NotFound: `There is no ${secret}: create it with the API key as ${key}, or correct spec.apiKeySecretRef.`,
    Forbidden: `${secret} may not be read: grant the service account of wafsync the right to get secrets in namespace ${namespace}. ${fault.message}`,
  }[fault.code as string];
  return {
    state: "Missing",
    problem: problem ?? `${secret} could not be read: ${fault.message}. wafsync retries.`,
  } as const;
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
  const read = await readSecret(api, { namespace, name });
  if (!read.ok) {
    const why = read.fault.code === "NotFound" ? "does not exist" : `cannot be read: ${read.fault.message}`;
    return { ok: false, problem: asSentence(`${secret} ${why}`) };
  }
  const value = read.value.get(key);
  return value === undefined
    ? { ok: false, problem: `${secret} has no key ${key}.` }
    : { ok: true, value: new ApiKey(value) };
}
