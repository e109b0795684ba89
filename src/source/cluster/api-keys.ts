// The API keys of all instances, from Secrets that are read one at a time and never listed. A key is read again when it
// is older than the instance's resync interval or when the WAF refused it, so a rotated key needs no restart. The last
// good key of an instance stays known until the instance is gone: for cleaning up when its Secret went first.
import type { Clock } from "../../async/clock.ts";
import type { ApiFault } from "../../kube/api-result.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import { isRecord, type KubeObject } from "../../kube/kube-object.ts";
import { getObject } from "../../kube/verbs.ts";
import { type ApiKey, validateApiKey } from "../../model/api-key.ts";
import type { DeclaredInstance } from "../../model/declared.ts";
import type { GatheredKey } from "../../model/gathered.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";
import { secretType } from "./cluster-object.ts";

const requestTimeoutMs = 10_000;
const namesShownMax = 5;

export interface ApiKeysOptions {
  readonly api: ApiServer;
  readonly clock: Pick<Clock, "monotonicMs">;
  /** The last good key of the instance is another one than before; `former` is undefined for the first. */
  readonly onKey: (instance: ObjectName, former: ApiKey | undefined) => void;
}

interface Known {
  /** What the key belongs to: another Secret, base URL or UID begins anew. */
  readonly identity: string;
  lastGood: ApiKey | undefined;
  result: GatheredKey | undefined;
  /** When `result` was asked for. */
  readAtMs: number;
  reading: Promise<GatheredKey> | undefined;
  /** Whether it was asked for at all, whatever the answer. */
  tried: boolean;
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
    return await known.reading;
  }

  /** Reads the key unless that was tried before, whenever and whatever came of it. */
  async ensureTried(instance: DeclaredInstance): Promise<void> {
    if (!this.#knownOf(instance).tried) await this.read(instance, Number.POSITIVE_INFINITY);
  }

  /** The last good key of the instance, without reading anything. */
  lastGood(instance: ObjectName): ApiKey | undefined {
    return this.#known.get(nameKey(instance))?.lastGood;
  }

  /** The next `read` asks the API server. The last good key stays known. */
  refresh(instance: ObjectName): void {
    const known = this.#known.get(nameKey(instance));
    if (known !== undefined) known.result = undefined;
  }

  /** The instance is gone. */
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
      lastGood: undefined,
      result: undefined,
      readAtMs: 0,
      reading: undefined,
      tried: false,
    };
    this.#known.set(key, fresh);
    return fresh;
  }

  async #readAnew(instance: DeclaredInstance, known: Known, nowMs: number): Promise<GatheredKey> {
    const { api } = this.#options;
    known.tried = true;
    const address = { namespace: instance.meta.namespace, name: instance.apiKeySecretRef.name };
    const read = await getObject<SecretObject>(api, secretType, address, { timeoutMs: requestTimeoutMs });
    if (!read.ok && !isAnswer(read.fault)) {
      // The API server has trouble, which says nothing about the key: asked again at the next opportunity.
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
    // Whoever was forgotten or began anew while the answer was under way has nobody to tell.
    if (this.#known.get(nameKey(instance.meta)) === known) this.#options.onKey({ namespace, name }, former);
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
    const names = Object.keys(entries).sort();
    const more = names.length > namesShownMax ? ` and ${names.length - namesShownMax} more` : "";
    const has = names.length === 0 ? "it has no data" : `it has ${names.slice(0, namesShownMax).join(", ")}${more}`;
    const problem = `${secret} has no key ${apiKeySecretRef.key}: ${has}. Add it, or set spec.apiKeySecretRef.key.`;
    return { state: "Missing", problem };
  }
  const validated = validateApiKey(Buffer.from(encoded, "base64").toString("utf8"));
  if (validated.ok) return { state: "Present", key: validated.key };
  const problem = `The API key, ${apiKeySecretRef.key} of ${secret}, ${validated.problem}.`;
  return { state: "Missing", problem };
}

/** Whether the API server has answered the question, if only by a no. */
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
  return `Secret ${namespace}/${name} could not be read: ${fault.message}. It is tried again.`;
}
