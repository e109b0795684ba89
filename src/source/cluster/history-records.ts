// The history of an instance in one WafRecord next to it, `<instance>-history`. It is replaced as a whole: it is small, and new
// events displace the oldest ones. In a conflict, the events are added to the other writer's version.
import { LruMap } from "../../async/lru-map.ts";
import type { RecordType } from "../../api/waf-record.ts";
import type { ApiFault, ApiResult } from "../../kube/api-result.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import { createObject, deleteObject, getObject, replaceObject } from "../../kube/verbs.ts";
import type { HistoryEvent, HistoryLimits } from "../../model/history.ts";
import { keepNewest } from "../../model/history.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";
import { asSentence } from "../../model/sentence.ts";
import { decodeEvents, encodeEvent, linesOf, mergeLines, timeOfEvent } from "../history-lines.ts";
import { ownersOfRecord, recordBody, type RecordHolder, type RecordObject, recordResource } from "./record-object.ts";

const requestTimeoutMs = 10_000;
const type: RecordType = "History";
const format = 1;
const attemptsMax = 2;
/** The number of instances whose text is cached, so that a batch needs only one request. */
const knownMax = 20;

/** About 13,000 entries. The API server writes the whole object with every batch. */
export const historyLimits: HistoryLimits = { eventsMax: 5_000, ageMsMax: 90 * 86_400_000, bytesMax: 256 * 1024 };

export interface HistoryRecordsOptions {
  readonly api: ApiServer;
  /** Undefined if the instance does not exist. */
  readonly holderOf: (instance: ObjectName) => RecordHolder | undefined;
  /** Called before every write. */
  readonly mayWrite: () => boolean;
  readonly nowMs: () => number;
}

interface Stored {
  readonly lines: readonly string[];
  /** Undefined if there is no record yet. */
  readonly resourceVersion: string | undefined;
}

/** Computes the new lines from the stored ones, oldest first. */
type Change = (lines: readonly string[]) => readonly string[];

export class HistoryRecords {
  readonly #options: HistoryRecordsOptions;
  readonly #known = new LruMap<string, Stored>(knownMax);

  constructor(options: HistoryRecordsOptions) {
    this.#options = options;
  }

  /** Undefined on success, or if the events need not be stored; otherwise the reason for the failure. Never rejects. */
  async append(instance: ObjectName, events: readonly HistoryEvent[]): Promise<string | undefined> {
    const added = events.map(encodeEvent);
    const stored = await this.#store(instance, (lines) => [...lines, ...added]);
    return stored === "Stored" || stored === "NotAllowed" ? undefined : stored.problem;
  }

  /** Prepends the history of `former` to that of `instance`, and removes its record. Returns the same as `append`. */
  async takeOver(instance: ObjectName, former: ObjectName): Promise<string | undefined> {
    const { api } = this.#options;
    const left = await this.#read(former);
    if (!left.ok) return unwritable(former, left.fault);
    const { lines: formerLines, resourceVersion } = left.value;
    if (resourceVersion === undefined) return undefined;
    const stored = await this.#store(instance, (lines) => mergeLines(formerLines, lines));
    if (stored === "NotAllowed") return undefined;
    if (stored !== "Stored") return stored.problem;
    this.#known.delete(nameKey(former));
    const address = { namespace: former.namespace, name: recordName(former) };
    const options = { timeoutMs: requestTimeoutMs, preconditions: { resourceVersion } };
    const removed = await deleteObject(api, recordResource, address, options);
    return removed.ok || removed.fault.code === "NotFound" ? undefined : unwritable(former, removed.fault);
  }

  async #store(instance: ObjectName, change: Change): Promise<"Stored" | "NotAllowed" | { readonly problem: string }> {
    const holder = this.#options.holderOf(instance);
    // Without an owner, the record of a deleted instance would remain.
    if (holder === undefined) return "NotAllowed";
    let fault: ApiFault | undefined;
    for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
      if (!this.#options.mayWrite()) return "NotAllowed";
      const written = await this.#attempt(instance, holder, change);
      if (written.ok) return "Stored";
      fault = written.fault;
      this.#known.delete(nameKey(instance));
      if (fault.code !== "Conflict" && fault.code !== "AlreadyExists" && fault.code !== "NotFound") break;
    }
    return { problem: unwritable(instance, fault) };
  }

  async #attempt(instance: ObjectName, holder: RecordHolder, change: Change): Promise<ApiResult<unknown>> {
    const { api, nowMs } = this.#options;
    const known = this.#known.get(nameKey(instance));
    const read = known === undefined ? await this.#read(instance) : ({ ok: true, value: known, status: 200 } as const);
    if (!read.ok) return read;
    const before = read.value;
    const lines = keepNewest(change(before.lines), historyLimits, nowMs(), timeOfEvent);
    const { resourceVersion } = before;
    const name = recordName(instance);
    const { namespace } = instance;
    const part = { name, type, part: 1, parts: 1, format, data: { events: lines.map((line) => `${line}\n`).join("") } };
    const metadata = {
      ownerReferences: ownersOfRecord(instance, holder),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    };
    const body = recordBody(instance, holder, part, metadata);
    const options = { timeoutMs: requestTimeoutMs };
    const written =
      resourceVersion === undefined
        ? await createObject<RecordObject>(api, recordResource, namespace, body, options)
        : await replaceObject<RecordObject>(api, recordResource, { namespace, name }, body, options);
    if (written.ok) {
      this.#known.set(nameKey(instance), { lines, resourceVersion: written.value.metadata.resourceVersion });
    }
    return written;
  }

  async #read(instance: ObjectName): Promise<ApiResult<Stored>> {
    const read = await getHistoryObject(this.#options.api, instance);
    if (!read.ok && read.fault.code !== "NotFound") return read;
    const text = read.ok ? (read.value.spec?.data?.["events"] ?? "") : "";
    const resourceVersion = read.ok ? read.value.metadata.resourceVersion : undefined;
    return { ok: true, value: { lines: linesOf(text), resourceVersion }, status: 200 };
  }
}

function unwritable(instance: ObjectName, fault: ApiFault | undefined): string {
  const name = `WafRecord ${nameKey({ namespace: instance.namespace, name: recordName(instance) })}`;
  return `${name} could not be written: ${asSentence(fault?.message ?? "")}`;
}

/** Oldest first; empty if nothing is recorded. Requires permission to read records. */
export async function readHistory(api: ApiServer, instance: ObjectName): Promise<ApiResult<readonly HistoryEvent[]>> {
  const read = await getHistoryObject(api, instance);
  if (!read.ok && read.fault.code !== "NotFound") return read;
  const text = read.ok ? (read.value.spec?.data?.["events"] ?? "") : "";
  return { ok: true, value: decodeEvents(text), status: 200 };
}

async function getHistoryObject(api: ApiServer, instance: ObjectName): Promise<ApiResult<RecordObject>> {
  const address = { namespace: instance.namespace, name: recordName(instance) };
  return await getObject<RecordObject>(api, recordResource, address, { timeoutMs: requestTimeoutMs });
}

function recordName({ name }: ObjectName): string {
  return `${name}-history`;
}
