// Stores feeds in WafRecords next to them: `<feed>-feed` contains the state, and refers to the parts with the entries by their
// digest. The parts are written first, then the first object is switched to them with its resourceVersion as a precondition, so
// that a process that lost its Lease can't restore old content. The feed owns its records: those of a former feed of the same name,
// and damaged ones, count as absent, because the feed can be fetched again.
import { feedSourceName } from "../../model/feed.ts";
import { apiGroup, apiVersion, recordKind } from "../../api/kinds.ts";
import type { RecordType } from "../../api/waf-record.ts";
import type { ApiFault } from "../../kube/api-result.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import { createObject, deleteObject, getObject, listObjects, replaceObject } from "../../kube/verbs.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";
import { asSentence } from "../../model/sentence.ts";
import type { FeedState } from "../../plan/feeds/feed-state.ts";
import { decodeFeedState, encodeFeed, type FeedRecord, withContent } from "../feed-record.ts";
import { type RecordData, type RecordObject, recordLabels, recordResource } from "./record-object.ts";

const requestTimeoutMs = 10_000;
const listTimeoutMs = 30_000;
/** As with inventories: an object must stay well below 1 MiB. */
const partLengthMax = 900 * 1024;
const partsMax = 64;
const format = 1;
const type: RecordType = "Feed";
const feedLabel = `${apiGroup}/feed`;

export interface FeedRecordsOptions {
  readonly api: ApiServer;
  readonly mayWrite: () => boolean;
  /** The UID of the feed; undefined if it does not exist. */
  readonly uidOf: (feed: ObjectName) => string | undefined;
}

type Loaded =
  | { readonly ok: true; readonly state: FeedState | undefined }
  | { readonly ok: false; readonly problem: string };
type Content = NonNullable<FeedRecord["content"]>;

export class FeedRecords {
  readonly #options: FeedRecordsOptions;
  /** The last stored version of each feed: `digest` is the digest of the content. */
  readonly #heads = new Map<
    string,
    { readonly resourceVersion: string | undefined; readonly digest: string | undefined }
  >();

  constructor(options: FeedRecordsOptions) {
    this.#options = options;
  }

  async load(feed: ObjectName): Promise<Loaded> {
    const read = await this.#get(feed, headName(feed));
    if (!read.ok) {
      if (read.fault.code !== "NotFound") return unreadable(feed, read.fault.message);
      this.#heads.set(nameKey(feed), { resourceVersion: undefined, digest: undefined });
      return { ok: true, state: undefined };
    }
    const { metadata, spec } = read.value;
    const { resourceVersion } = metadata;
    this.#heads.set(nameKey(feed), { resourceVersion, digest: undefined });
    const decoded = decodeFeedState(spec?.data?.["state"] ?? "");
    if (!decoded.ok || spec?.feed?.uid !== this.#options.uidOf(feed)) return { ok: true, state: undefined };
    const { state, contentDigest: digest } = decoded;
    if (digest === undefined) return { ok: true, state };
    const text = await this.#loadContent(feed, digest, spec?.parts ?? 1);
    if (typeof text !== "string") return unreadable(feed, text.message);
    const whole = withContent(state, digest, text);
    if (whole !== undefined) this.#heads.set(nameKey(feed), { resourceVersion, digest });
    return { ok: true, state: whole };
  }

  async hasChanged(feed: ObjectName): Promise<boolean> {
    const read = await this.#get(feed, headName(feed));
    return read.ok && read.value.metadata.resourceVersion !== this.#heads.get(nameKey(feed))?.resourceVersion;
  }

  /** Undefined on success, otherwise the reason. */
  async save(feed: ObjectName, state: FeedState): Promise<string | undefined> {
    if (!this.#options.mayWrite()) return "This process must not write: it is stopping or does not hold the Lease.";
    // Without an owner, nothing would ever delete the records.
    if (this.#options.uidOf(feed) === undefined) return `${feedSourceName(feed)} no longer exists.`;
    const { stateText, content } = encodeFeed(state);
    const head = this.#heads.get(nameKey(feed));
    if (head === undefined) return `The record of ${feedSourceName(feed)} has not been read.`;
    const isNew = content !== undefined && content.digest !== head.digest;
    const fault = isNew ? await this.#writeContent(feed, content) : undefined;
    if (fault !== undefined) return unwritten(feed, fault);
    const parts = 1 + (content === undefined ? 0 : partsOf(content).length);
    const body = this.#body(feed, headName(feed), { part: 1, parts, data: { state: stateText } }, head.resourceVersion);
    const options = { timeoutMs: requestTimeoutMs };
    const { api } = this.#options;
    const written =
      head.resourceVersion === undefined
        ? await createObject<RecordObject>(api, recordResource, feed.namespace, body, options)
        : await replaceObject<RecordObject>(api, recordResource, addressOf(feed, headName(feed)), body, options);
    if (!written.ok) return unwritten(feed, written.fault);
    const { resourceVersion } = written.value.metadata;
    this.#heads.set(nameKey(feed), { resourceVersion, digest: content?.digest });
    if (isNew || content?.digest !== head.digest) await this.#removeOthers(feed, content);
    return undefined;
  }

  /** Without missing parts. */
  async #loadContent(feed: ObjectName, digest: string, parts: number): Promise<string | ApiFault> {
    const texts: string[] = [];
    for (let part = 2; part <= Math.min(parts, partsMax + 1); part += 1) {
      const read = await this.#get(feed, partName(feed, digest, part));
      if (!read.ok && read.fault.code !== "NotFound") return read.fault;
      texts.push((read.ok && read.value.spec?.data?.["entries"]) || "");
    }
    return texts.join("");
  }

  async #writeContent(feed: ObjectName, content: Content): Promise<ApiFault | undefined> {
    const texts = partsOf(content);
    for (const [index, entries] of texts.entries()) {
      const part = index + 2;
      const name = partName(feed, content.digest, part);
      const body = this.#body(feed, name, { part, parts: texts.length + 1, data: { entries } }, undefined);
      const { api } = this.#options;
      const options = { timeoutMs: requestTimeoutMs };
      const create = async () => await createObject(api, recordResource, feed.namespace, body, options);
      let created = await create();
      // No stored content refers to an existing part. It may be damaged, or belong to a former feed, with which it would be deleted.
      if (!created.ok && created.fault.code === "AlreadyExists") {
        await deleteObject(api, recordResource, addressOf(feed, name), options);
        created = await create();
      }
      if (!created.ok) return created.fault;
    }
    return undefined;
  }

  /** Remaining objects after a failure are removed with the next content. */
  async #removeOthers(feed: ObjectName, content: Content | undefined): Promise<void> {
    const { api } = this.#options;
    const names =
      content === undefined ? [] : partsOf(content).map((_, index) => partName(feed, content.digest, index + 2));
    const kept = new Set([headName(feed), ...names]);
    const labelSelector = Object.entries(labelsOf(feed))
      .map(([label, value]) => `${label}=${value}`)
      .join(",");
    const listed = await listObjects<RecordObject>(api, recordResource, {
      namespace: feed.namespace,
      labelSelector,
      timeoutMs: listTimeoutMs,
    });
    for (const { metadata } of listed.ok ? listed.value.items : []) {
      if (kept.has(metadata.name)) continue;
      await deleteObject(api, recordResource, addressOf(feed, metadata.name), { timeoutMs: requestTimeoutMs });
    }
  }

  async #get(feed: ObjectName, name: string) {
    const options = { timeoutMs: requestTimeoutMs };
    return await getObject<RecordObject>(this.#options.api, recordResource, addressOf(feed, name), options);
  }

  #body(
    feed: ObjectName,
    name: string,
    content: { readonly part: number; readonly parts: number; readonly data: RecordData },
    resourceVersion: string | undefined,
  ): object {
    const uid = this.#options.uidOf(feed);
    const owner = { apiVersion, kind: "WafFeed", name: feed.name, uid, controller: true, blockOwnerDeletion: false };
    return {
      apiVersion,
      kind: recordKind,
      metadata: {
        name,
        namespace: feed.namespace,
        labels: labelsOf(feed),
        ownerReferences: uid === undefined ? [] : [owner],
        ...(resourceVersion !== undefined && { resourceVersion }),
      },
      spec: { feed: { name: feed.name, ...(uid !== undefined && { uid }) }, type, format, ...content },
    };
  }
}

/** Split between lines, so that each part is readable. */
function partsOf({ text }: Content): string[] {
  const parts: string[] = [];
  for (let start = 0; start < text.length;) {
    const end = text.length - start <= partLengthMax ? text.length : text.lastIndexOf("\n", start + partLengthMax) + 1;
    parts.push(text.slice(start, end));
    start = end;
  }
  return parts;
}

function labelsOf({ name }: ObjectName): Readonly<Record<string, string>> {
  return { ...recordLabels(type), [feedLabel]: name };
}

function headName({ name }: ObjectName): string {
  return `${name}-feed`;
}

function partName(feed: ObjectName, digest: string, part: number): string {
  return `${headName(feed)}-${digest.slice(0, 16)}-${part}`;
}

function addressOf({ namespace }: ObjectName, name: string) {
  return { namespace, name };
}

function unreadable(feed: ObjectName, problem: string): Loaded {
  return { ok: false, problem: `The record of ${feedSourceName(feed)} cannot be read: ${asSentence(problem)}` };
}

function unwritten(feed: ObjectName, fault: ApiFault): string {
  return `The record of ${feedSourceName(feed)} cannot be written: ${asSentence(fault.message)}`;
}
