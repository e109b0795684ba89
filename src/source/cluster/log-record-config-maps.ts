// The record of the forwarded logs of an instance, in ConfigMaps next to it. `<instance>-wafsync-logs` contains the record
// itself, or names one of two sets of further ConfigMaps (`…-logs-a-1`, `…-logs-b-1`) with its parts. A large record is
// written to the unused set first, and then the first ConfigMap is switched to it: so a record is stored as a whole.
import { createHash } from "node:crypto";
import { apiGroup } from "../../api/kinds.ts";
import type { ApiFault, ApiResult } from "../../kube/api-result.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import { createObject, deleteObject, getObject, replaceObject } from "../../kube/verbs.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";
import { asSentence } from "../../model/sentence.ts";
import { type ConfigMapObject, configMapType } from "./cluster-object.ts";
import { ownerReferenceOf } from "./owner-reference.ts";

const requestTimeoutMs = 10_000;
/** Bytes of text in a ConfigMap, whose limit is 1 MiB. */
const partLengthMaxDefault = 900 * 1024;
/** At about eight characters per entry, this is enough for more than a million entries. */
export const partsMax = 12;

type PartSet = "a" | "b";

/** The content of the first ConfigMap. */
interface Head {
  /** Undefined if nothing has been stored. */
  readonly resourceVersion: string | undefined;
  readonly set: PartSet | undefined;
  readonly parts: number;
}

export interface LogRecordConfigMapsOptions {
  readonly api: ApiServer;
  /** The UID of an instance; undefined if it does not exist. */
  readonly uidOf: (instance: ObjectName) => string | undefined;
  /** Called before every write. */
  readonly mayWrite: () => boolean;
  readonly partLengthMax?: number;
}

/** Implements the port of the use case. */
export class LogRecordConfigMaps {
  readonly #options: LogRecordConfigMapsOptions;

  constructor(options: LogRecordConfigMapsOptions) {
    this.#options = options;
  }

  /** A record with a missing part counts as invalid: null. Never rejects. */
  async load(instance: ObjectName) {
    const read = await this.#get(instance, headName(instance));
    if (!read.ok && read.fault.code !== "NotFound") return unreachable(instance, read.fault);
    if (!read.ok) return { state: "Loaded", record: undefined, revision: "" } as const;
    const { data } = read.value;
    const head = headOf(read.value);
    const texts = [data?.["record"] ?? ""];
    for (let part = 1; part <= head.parts && head.set !== undefined; part += 1) {
      const found = await this.#get(instance, partName(instance, head.set, part));
      if (!found.ok && found.fault.code !== "NotFound") return unreachable(instance, found.fault);
      texts.push(found.ok ? (found.value.data?.["part"] ?? "") : "");
    }
    const text = texts.join("");
    const record = digestOf(text) === data?.["digest"] ? parseJson(text) : null;
    return { state: "Loaded", record, revision: formatRevision(head) } as const;
  }

  /** Never rejects. */
  async save(instance: ObjectName, record: object, revision: string) {
    const { uidOf, mayWrite, partLengthMax = partLengthMaxDefault } = this.#options;
    const uid = uidOf(instance);
    if (uid === undefined || !mayWrite()) {
      const problem = `The record of what was forwarded of ${nameKey(instance)} may not be written now.`;
      return { state: "Failed", problem } as const;
    }
    const text = JSON.stringify(record);
    const before = parseRevision(revision);
    const isSmall = text.length <= partLengthMax;
    const parts = isSmall ? 0 : Math.ceil(text.length / partLengthMax);
    if (parts > partsMax) return { state: "TooLarge" } as const;
    const set: PartSet = before.set === "a" ? "b" : "a";
    for (let part = 1; part <= parts; part += 1) {
      const piece = text.slice((part - 1) * partLengthMax, part * partLengthMax);
      const fault = await this.#putPart(instance, uid, partName(instance, set, part), piece);
      if (fault !== undefined) return failed(instance, fault);
    }
    const digest = digestOf(text);
    const data = isSmall ? { record: text, digest } : { set, parts: String(parts), digest };
    const written = await this.#putHead(instance, uid, data, before.resourceVersion);
    if (!written.ok) return failed(instance, written.fault);
    // Nothing refers to the former set any longer. If this fails, the next save overwrites it.
    for (let part = 1; part <= before.parts && before.set !== undefined; part += 1) {
      const address = { namespace: instance.namespace, name: partName(instance, before.set, part) };
      await deleteObject(this.#options.api, configMapType, address, { timeoutMs: requestTimeoutMs });
    }
    return { state: "Saved", revision: formatRevision(headOf(written.value)) } as const;
  }

  async #get({ namespace }: ObjectName, name: string): Promise<ApiResult<ConfigMapObject>> {
    return await getObject(this.#options.api, configMapType, { namespace, name }, { timeoutMs: requestTimeoutMs });
  }

  async #putPart(instance: ObjectName, uid: string, name: string, part: string): Promise<ApiFault | undefined> {
    const { api } = this.#options;
    const { namespace } = instance;
    const body = bodyOf(instance, uid, name, { part }, undefined);
    const options = { timeoutMs: requestTimeoutMs };
    const created = await createObject(api, configMapType, namespace, body, options);
    if (created.ok) return undefined;
    if (created.fault.code !== "AlreadyExists") return created.fault;
    const replaced = await replaceObject(api, configMapType, { namespace, name }, body, options);
    return replaced.ok ? undefined : replaced.fault;
  }

  async #putHead(
    instance: ObjectName,
    uid: string,
    data: Readonly<Record<string, string>>,
    resourceVersion: string | undefined,
  ): Promise<ApiResult<ConfigMapObject>> {
    const { api } = this.#options;
    const { namespace } = instance;
    const name = headName(instance);
    const body = bodyOf(instance, uid, name, data, resourceVersion);
    const options = { timeoutMs: requestTimeoutMs };
    return resourceVersion === undefined
      ? await createObject<ConfigMapObject>(api, configMapType, namespace, body, options)
      : await replaceObject<ConfigMapObject>(api, configMapType, { namespace, name }, body, options);
  }
}

function headName({ name }: ObjectName): string {
  return `${name}-wafsync-logs`;
}

function partName(instance: ObjectName, set: PartSet, part: number): string {
  return `${headName(instance)}-${set}-${part}`;
}

function bodyOf(
  instance: ObjectName,
  uid: string,
  name: string,
  data: Readonly<Record<string, string>>,
  resourceVersion: string | undefined,
): object {
  // Not the label of inventories, because lists of inventories would contain these.
  const labels = { "app.kubernetes.io/managed-by": "wafsync", [`${apiGroup}/logs-of`]: instance.name };
  const ownerReferences = [ownerReferenceOf(instance, uid)];
  const metadata = { name, namespace: instance.namespace, labels, ownerReferences };
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: resourceVersion === undefined ? metadata : { ...metadata, resourceVersion },
    data,
  };
}

function headOf({ metadata, data }: ConfigMapObject): Head {
  const set = data?.["set"];
  const parts = Number(data?.["parts"] ?? 0);
  return {
    resourceVersion: metadata.resourceVersion,
    set: set === "a" || set === "b" ? set : undefined,
    parts: Number.isInteger(parts) && parts > 0 && parts <= partsMax ? parts : 0,
  };
}

/** `<resourceVersion> <set> <parts>`; empty if nothing has been stored. */
function formatRevision({ resourceVersion = "", set, parts }: Head): string {
  return `${resourceVersion} ${set ?? ""} ${parts}`;
}

function parseRevision(revision: string): Head {
  const [resourceVersion = "", set, parts] = revision.split(" ");
  if (resourceVersion === "") return { resourceVersion: undefined, set: undefined, parts: 0 };
  return { resourceVersion, set: set === "a" || set === "b" ? set : undefined, parts: Number(parts) };
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

function failed(instance: ObjectName, fault: ApiFault) {
  const name = `ConfigMap ${nameKey({ namespace: instance.namespace, name: headName(instance) })}`;
  // NotFound: another writer deleted what was loaded.
  if (fault.code === "Conflict" || fault.code === "AlreadyExists" || fault.code === "NotFound") {
    return { state: "Conflict", problem: `${name} was changed by somebody else since it was read.` } as const;
  }
  return { state: "Failed", problem: `${name} could not be written: ${asSentence(fault.message)}` } as const;
}

function unreachable(instance: ObjectName, fault: ApiFault) {
  const problem = `What was forwarded of ${nameKey(instance)} can't be read: ${asSentence(fault.message)}`;
  return { state: "Unreachable", problem } as const;
}
