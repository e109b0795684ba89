// The record of the forwarded logs of an instance, in WafRecords next to it. `<instance>-logs` contains the record itself, or
// names one of two sets of further objects (`…-logs-a-1`, `…-logs-b-1`) with its parts. A large record is written to the
// unused set first, and then the first object is switched to it. So a record is always stored as a whole.
import { hexDigest } from "../../model/hex-digest.ts";
import type { RecordType } from "../../api/waf-record.ts";
import type { ApiFault, ApiResult } from "../../kube/api-result.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import { createObject, deleteObject, getObject, replaceObject } from "../../kube/verbs.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";
import { asSentence } from "../../model/sentence.ts";
import {
  ownersOfRecord,
  recordBody,
  type RecordData,
  type RecordHolder,
  type RecordObject,
  recordResource,
} from "./record-object.ts";

const requestTimeoutMs = 10_000;
/** Maximum characters of text in an object: etcd accepts 1.5 MiB, including escapes and metadata. */
const partLengthMaxDefault = 900 * 1024;
/** At about eight characters per entry, this is enough for more than a million entries. */
export const partsMax = 12;

const type: RecordType = "LogForwarding";
const format = 1;

type PartSet = "a" | "b";

/** The content of the first object. */
interface Head {
  /** Undefined if nothing has been stored. */
  readonly resourceVersion: string | undefined;
  readonly set: PartSet | undefined;
  readonly parts: number;
}

export interface LogRecordsOptions {
  readonly api: ApiServer;
  /** Undefined if the instance does not exist. */
  readonly holderOf: (instance: ObjectName) => RecordHolder | undefined;
  /** Called before every write. */
  readonly mayWrite: () => boolean;
  readonly partLengthMax?: number;
}

/** Implements the port of the use case. */
export class LogRecords {
  readonly #options: LogRecordsOptions;

  constructor(options: LogRecordsOptions) {
    this.#options = options;
  }

  /** A record with a missing part counts as invalid: null. Never rejects. */
  async load(instance: ObjectName) {
    const read = await this.#get(instance, headName(instance));
    if (!read.ok && read.fault.code !== "NotFound") return unreachable(instance, read.fault);
    if (!read.ok) return { state: "Loaded", record: undefined, revision: "" } as const;
    const data = read.value.spec?.data;
    const head = headOf(read.value);
    const texts = [data?.["record"] ?? ""];
    for (let part = 1; part <= head.parts && head.set !== undefined; part += 1) {
      const found = await this.#get(instance, partName(instance, head.set, part));
      if (!found.ok && found.fault.code !== "NotFound") return unreachable(instance, found.fault);
      texts.push(found.ok ? (found.value.spec?.data?.["part"] ?? "") : "");
    }
    const record = checkedRecord(texts.join(""), data?.["digest"]);
    return { state: "Loaded", record, revision: formatRevision(head) } as const;
  }

  /** Never rejects. */
  async save(instance: ObjectName, record: object, revision: string) {
    const { holderOf, mayWrite, partLengthMax = partLengthMaxDefault } = this.#options;
    const holder = holderOf(instance);
    if (holder === undefined || !mayWrite()) {
      const problem = `This process must not write the record of forwarded logs of ${nameKey(instance)} now.`;
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
      const place = { name: partName(instance, set, part), part: part + 1, parts: parts + 1 };
      const fault = await this.#putPart(instance, holder, { ...place, data: { part: piece } });
      if (fault !== undefined) return failed(instance, fault);
    }
    const digest = hexDigest(text);
    const data = isSmall ? { record: text, digest } : { set, parts: String(parts), digest };
    const head = { name: headName(instance), part: 1, parts: parts + 1, data };
    const written = await this.#putHead(instance, holder, head, before.resourceVersion);
    if (!written.ok) return failed(instance, written.fault);
    // Nothing refers to the former set any longer. If this fails, a later save overwrites it.
    for (let part = 1; part <= before.parts && before.set !== undefined; part += 1) {
      const address = { namespace: instance.namespace, name: partName(instance, before.set, part) };
      await deleteObject(this.#options.api, recordResource, address, { timeoutMs: requestTimeoutMs });
    }
    return { state: "Saved", revision: formatRevision(headOf(written.value)) } as const;
  }

  async #get({ namespace }: ObjectName, name: string): Promise<ApiResult<RecordObject>> {
    return await getObject(this.#options.api, recordResource, { namespace, name }, { timeoutMs: requestTimeoutMs });
  }

  async #putPart(instance: ObjectName, holder: RecordHolder, part: LogRecordPart): Promise<ApiFault | undefined> {
    const { api } = this.#options;
    const { namespace } = instance;
    const body = bodyOf(instance, holder, part, undefined);
    const options = { timeoutMs: requestTimeoutMs };
    const created = await createObject(api, recordResource, namespace, body, options);
    if (created.ok) return undefined;
    if (created.fault.code !== "AlreadyExists") return created.fault;
    // Replacing a custom resource requires its current version, whatever its content.
    const found = await this.#get(instance, part.name);
    if (!found.ok) return found.fault;
    const again = bodyOf(instance, holder, part, found.value.metadata.resourceVersion);
    const replaced = await replaceObject(api, recordResource, { namespace, name: part.name }, again, options);
    return replaced.ok ? undefined : replaced.fault;
  }

  async #putHead(
    instance: ObjectName,
    holder: RecordHolder,
    head: LogRecordPart,
    resourceVersion: string | undefined,
  ): Promise<ApiResult<RecordObject>> {
    const { api } = this.#options;
    const { namespace } = instance;
    const body = bodyOf(instance, holder, head, resourceVersion);
    const options = { timeoutMs: requestTimeoutMs };
    return resourceVersion === undefined
      ? await createObject<RecordObject>(api, recordResource, namespace, body, options)
      : await replaceObject<RecordObject>(api, recordResource, { namespace, name: head.name }, body, options);
  }
}

interface LogRecordPart {
  readonly name: string;
  readonly part: number;
  readonly parts: number;
  readonly data: RecordData;
}

function headName({ name }: ObjectName): string {
  return `${name}-logs`;
}

function partName(instance: ObjectName, set: PartSet, part: number): string {
  return `${headName(instance)}-${set}-${part}`;
}

function bodyOf(
  instance: ObjectName,
  holder: RecordHolder,
  part: LogRecordPart,
  resourceVersion: string | undefined,
): object {
  const ownerReferences = ownersOfRecord(instance, holder);
  const metadata = { ownerReferences, ...(resourceVersion !== undefined && { resourceVersion }) };
  return recordBody(instance, holder, { ...part, type, format }, metadata);
}

function headOf({ metadata, spec }: RecordObject): Head {
  const set = spec?.data?.["set"];
  const parts = Number(spec?.data?.["parts"] ?? 0);
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

/** Null if it differs from the stored text. */
function checkedRecord(text: string, digest: string | undefined): unknown {
  return hexDigest(text) === digest ? parseJson(text) : null;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

function failed(instance: ObjectName, fault: ApiFault) {
  const name = `WafRecord ${nameKey({ namespace: instance.namespace, name: headName(instance) })}`;
  // NotFound: another writer deleted the loaded record.
  if (fault.code === "Conflict" || fault.code === "AlreadyExists" || fault.code === "NotFound") {
    return { state: "Conflict", problem: `${name} was changed by another writer after wafsync read it.` } as const;
  }
  return { state: "Failed", problem: `${name} could not be written: ${asSentence(fault.message)}` } as const;
}

function unreachable(instance: ObjectName, fault: ApiFault) {
  const problem = `The record of forwarded logs of ${nameKey(instance)} can't be read: ${asSentence(fault.message)}`;
  return { state: "Unreachable", problem } as const;
}
