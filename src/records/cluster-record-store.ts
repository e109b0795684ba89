// Records in WafRecord objects next to their instance or feed. A small record is one object. Of a larger one, that object contains the
// first line and lists parts by name and digest. A save writes new parts first, then the first object with its resourceVersion as
// a precondition, and then deletes the parts that are no longer listed. So the first object is the only commit: a crash never
// leaves a mixture. The name of a part is random, so no two saves share a new part, and a stale process deletes nothing that a newer
// version lists. What a killed process has written in vain is deleted by the next save.
import { randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";
import { LruMap } from "../async/lru-map.ts";
import type { ApiFault, ApiResult, ApiServer } from "../kube/api-server.ts";
import { setFinalizer } from "../kube/finalizer.ts";
import { type KubeObject, type KubeObjectMeta, isRecord } from "../kube/kube-object.ts";
import {
  createObject,
  deleteObject,
  getObject,
  listObjects,
  listPage,
  mergePatchObject,
  replaceObject,
} from "../kube/verbs.ts";
import { hexDigest } from "../model/hex-digest.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import { asSentence } from "../model/texts.ts";
import { type LoadedRecord, type RecordKey, type RecordStore, type SavedRecord, recordNames } from "./record-store.ts";
import { apiGroup, apiVersion, apiVersionName, pluralOf, recordKind } from "../kinds/kinds.ts";
import type { WafRecordSpec } from "../kinds/waf-record.ts";
import type { ResourceType } from "../kube/resource-path.ts";

const requestTimeoutMs = 10_000;
const listTimeoutMs = 30_000;
/** A larger text is divided into parts, so that a save writes only those that have changed. */
const textLengthMaxDefault = 256 * 1024;
/** The number of records whose objects are known. Others must be loaded again before they are saved. */
const knownMax = 20_000;
/** The number of inventories that are written again if they disappear with their CRD. */
const recoverableMax = 100;
const mustNotWrite = "This process must not write: it is stopping or does not hold the Lease.";
/** The average number of bytes of a line of an inventory or feed. */
const lineBytes = 15;

export interface ClusterRecordStoreOptions {
  readonly api: ApiServer;
  /** Undefined if the instance or feed does not exist, or is unknown to a reader. */
  readonly ownerOf: (key: RecordKey) => RecordOwner | undefined;
  /** Called before every write. */
  readonly mayWrite: () => boolean;
  /** All namespaces if undefined. */
  readonly namespace?: string | undefined;
  /** Whether all objects may have disappeared with their CRDs instead of being deleted. */
  readonly wasUninstalled?: () => boolean;
  readonly textLengthMax?: number;
}

type PartRef = NonNullable<RecordContent["parts"]>[number];

/** The stored objects of a record. */
interface Known {
  readonly head: KubeObjectMeta;
  /** The parts that the first object lists, if they are whole and have the right owner: a save keeps them if it can. */
  readonly parts: readonly PartRef[];
  /** The names of all other objects of the record, whether the first object lists them or not. */
  readonly others: ReadonlySet<string>;
  readonly owner: RecordOwner | undefined;
}

interface Found {
  readonly head: RecordObject | undefined;
  readonly others: ReadonlyMap<string, RecordObject>;
}

export class ClusterRecordStore implements RecordStore {
  readonly #options: ClusterRecordStoreOptions;
  readonly #known = new LruMap<string, Known>(knownMax);
  /** The last texts that were loaded or saved; only used if there is `wasUninstalled`. */
  readonly #recoverable = new LruMap<string, string>(recoverableMax);

  constructor(options: ClusterRecordStoreOptions) {
    this.#options = options;
  }

  async load(key: RecordKey): Promise<LoadedRecord> {
    const before = this.#known.get(idOf(key));
    const read = await this.#find(key);
    // It may be older than what this process has saved meanwhile.
    if (this.#known.get(idOf(key)) !== before) return await this.load(key);
    if (!read.ok) {
      const isForbidden = read.fault.code === "Forbidden";
      return { state: "Unreachable", problem: unreachable(key, read.fault), isForbidden };
    }
    const owner = this.#options.ownerOf(key);
    const { head, others } = read.value;
    if (head === undefined) return (await this.#restored(key, owner)) ?? this.#absent(key);
    const { resourceVersion: revision } = head.metadata;
    const known = { head: head.metadata, parts: [], others: new Set(others.keys()), owner };
    this.#known.set(idOf(key), known);
    if (isOfFormerFeed(key, owner, head)) return { state: "Absent", revision };
    const text = joined(head, others);
    if ("problem" in text) return { state: "Damaged", problem: damaged(key, text.problem), revision };
    this.#remember(key, text.text);
    const parts = head.spec?.parts ?? [];
    const objects = [head, ...parts.flatMap(({ name }) => others.get(name) ?? [])];
    const isBound = owner === undefined || objects.every((object) => isHeldFor(key, owner, object));
    if (!isBound && this.#options.mayWrite()) {
      // After a restore, the instance has a new UID, and the garbage collector would delete the record; or its policy has changed.
      const saved = await this.#write(key, owner, text.text, known);
      if (saved.state === "Saved") return { state: "Loaded", text: text.text, revision: saved.revision };
    }
    this.#known.set(idOf(key), { ...known, parts: isBound ? parts : [] });
    return { state: "Loaded", text: text.text, revision };
  }

  async hasChanged(key: RecordKey): Promise<boolean> {
    const read = await this.#get(key, headName(key));
    return read.ok && read.value.metadata.resourceVersion !== this.#known.get(idOf(key))?.head.resourceVersion;
  }

  async save(key: RecordKey, text: string, revision: string): Promise<SavedRecord> {
    const owner = this.#options.ownerOf(key);
    if (owner === undefined) {
      // Without an owner, nothing would ever delete the record.
      const kind = key.type === "Feed" ? "WafFeed" : "WafInstance";
      return { state: "NotAllowed", problem: `${kind} ${nameKey(key)} no longer exists.` };
    }
    if (!this.#options.mayWrite()) return { state: "NotAllowed", problem: mustNotWrite };
    const known = this.#known.get(idOf(key));
    const isCurrent = known?.head.resourceVersion === revision;
    if (!isCurrent && revision !== "") return changed(key);
    const isBound = known?.owner?.uid === owner.uid && known?.owner?.retains === owner.retains;
    // Parts with another owner are written again.
    const before = isCurrent ? { ...known, parts: isBound ? known.parts : [] } : undefined;
    const saved = await this.#write(key, owner, text, before);
    if (saved.state !== "Saved") return saved;
    this.#remember(key, text);
    return saved;
  }

  async remove(key: RecordKey): Promise<string | undefined> {
    if (!this.#options.mayWrite()) return mustNotWrite;
    this.#recoverable.delete(idOf(key));
    this.#known.delete(idOf(key));
    const found = await this.#find(key);
    if (!found.ok) return unreachable(key, found.fault);
    return await this.#releaseAll(key, found.value);
  }

  placeOf(key: RecordKey): string {
    return nameOf(key);
  }

  /**
   * Removes owner and finalizer of a record that must outlive its instance: call it before the instance is deleted. Returns
   * undefined, or the reason for a failure. Never rejects.
   */
  async detach(key: RecordKey): Promise<string | undefined> {
    const owner = this.#options.ownerOf(key);
    const found = await this.#find(key);
    // Without its CRD, there is no record.
    if (!found.ok) return found.fault.code === "NotFound" ? undefined : unreachable(key, found.fault);
    const { head, others } = found.value;
    if (owner === undefined || head === undefined) return undefined;
    // A record that another writer deleted disappears with the instance.
    if (head.metadata.deletionTimestamp !== undefined) return await this.#releaseAll(key, found.value);
    const text = joined(head, others);
    if ("problem" in text) return await this.#unbound(key, [head, ...others.values()]);
    if (isHeldFor(key, { ...owner, retains: true }, head)) return undefined;
    const before = { head: head.metadata, parts: [], others: new Set(others.keys()), owner };
    const saved = await this.#write(key, { ...owner, retains: true }, text.text, before);
    return saved.state === "Saved" ? undefined : saved.problem;
  }

  /** A record that can't be used outlives its instance as it is. */
  async #unbound(key: RecordKey, objects: readonly RecordObject[]): Promise<string | undefined> {
    for (const { metadata } of objects) {
      const finalizers = metadata.finalizers?.filter((one) => one !== recordFinalizer);
      const body = { metadata: { ownerReferences: null, finalizers } };
      const target = { namespace: key.namespace, name: metadata.name };
      const options = { timeoutMs: requestTimeoutMs };
      const freed = await mergePatchObject<KubeObject>(this.#options.api, recordResource, target, body, options);
      if (!freed.ok) return unreachable(key, freed.fault);
    }
    return undefined;
  }

  /** Whether records can be read at all. Never rejects. */
  async isUsable(): Promise<boolean> {
    const options = { limit: 1, timeoutMs: requestTimeoutMs, namespace: this.#options.namespace };
    return (await listPage(this.#options.api, recordResource, options)).ok;
  }

  /**
   * Removes the finalizer of inventories that are being deleted and whose instance no longer exists, because its finalizer was
   * removed manually. Call it periodically, with synced caches. Returns the names of the instances. Never rejects.
   */
  async sweep(): Promise<readonly ObjectName[]> {
    const { api, ownerOf, namespace: only } = this.#options;
    const type = "Inventory";
    const options = {
      labelSelector: recordSelector({ type }),
      metadataOnly: true,
      namespace: only,
      timeoutMs: listTimeoutMs,
    };
    const listed = await listObjects<KubeObject>(api, recordResource, options);
    const swept = new Map<string, ObjectName>();
    for (const object of listed.ok ? listed.value.items : []) {
      const { namespace = "", deletionTimestamp } = object.metadata;
      const instance = { namespace, name: instanceNameOfRecord(object) };
      if (deletionTimestamp === undefined || instance.name === "") continue;
      if (ownerOf({ type, ...instance }) !== undefined || (await this.#release(object)) !== undefined) continue;
      swept.set(nameKey(instance), instance);
    }
    return [...swept.values()];
  }

  /** All objects of the record: those with the labels, and those that the first object lists. */
  async #find(key: RecordKey): Promise<ApiResult<Found>> {
    const options = { namespace: key.namespace, labelSelector: recordSelector(key), timeoutMs: listTimeoutMs };
    const listed = await listObjects<RecordObject>(this.#options.api, recordResource, options);
    if (!listed.ok) return listed;
    const found = new Map(listed.value.items.map((object) => [object.metadata.name, object]));
    const wanted = [headName(key)];
    for (const name of wanted) {
      const read = found.has(name) ? undefined : await this.#get(key, name);
      if (read?.ok === true) found.set(name, read.value);
      else if (read !== undefined && read.fault.code !== "NotFound") return read;
      // The first name is that of the object that lists the others.
      if (wanted.length === 1) wanted.push(...(found.get(name)?.spec?.parts ?? []).map((part) => part.name));
    }
    const head = found.get(headName(key));
    found.delete(headName(key));
    return { ok: true, value: { head, others: found }, status: 200 };
  }

  #absent(key: RecordKey): LoadedRecord {
    this.#known.delete(idOf(key));
    return { state: "Absent", revision: "" };
  }

  /** Rewrites a record that disappeared with the CRD, if this process still knows it. Undefined if there is none. */
  async #restored(key: RecordKey, owner: RecordOwner | undefined): Promise<LoadedRecord | undefined> {
    const { mayWrite, wasUninstalled } = this.#options;
    const text = this.#recoverable.get(idOf(key));
    if (text === undefined || owner === undefined || !mayWrite() || wasUninstalled?.() !== true) return undefined;
    const saved = await this.#write(key, owner, text, undefined);
    if (saved.state === "Saved") return { state: "Loaded", text, revision: saved.revision };
    return { state: "Unreachable", problem: saved.problem, isForbidden: false };
  }

  async #write(key: RecordKey, owner: RecordOwner, text: string, before: Known | undefined): Promise<SavedRecord> {
    const { textLengthMax = textLengthMaxDefault } = this.#options;
    const isOne = text.length <= textLengthMax;
    const { first, parts: pieces } = isOne ? { first: text, parts: [] } : splitText(text, textLengthMax);
    const written = new Map(before?.parts.map(({ name, digest }) => [digest, name]));
    const parts: PartRef[] = [];
    for (const piece of pieces) {
      const digest = hexDigest(piece);
      const name = written.get(digest) ?? `${headName(key)}-${randomBytes(8).toString("hex")}`;
      if (!written.has(digest)) {
        const created = await this.#put(key, owner, name, { text: piece, digest }, undefined);
        if (!created.ok) return failed(key, created.fault);
      }
      written.set(digest, name);
      parts.push({ name, digest });
    }
    const content = { text: first, digest: digestOf(first, parts), ...(isOne ? {} : { parts }) };
    const committed = await this.#put(key, owner, headName(key), content, before?.head);
    if (!committed.ok) {
      const hasNoNamespace = before === undefined && committed.fault.code === "NotFound";
      return hasNoNamespace ? failed(key, committed.fault) : refused(key, committed.fault);
    }
    const { metadata: head } = committed.value;
    const kept = new Set(parts.map(({ name }) => name));
    for (const name of before?.others ?? []) if (!kept.has(name)) await this.#releaseNamed(key, name);
    this.#known.set(idOf(key), { head, parts, others: kept, owner });
    return { state: "Saved", revision: head.resourceVersion };
  }

  async #put(
    key: RecordKey,
    owner: RecordOwner,
    name: string,
    content: RecordContent,
    former: KubeObjectMeta | undefined,
  ): Promise<ApiResult<RecordObject>> {
    const { api } = this.#options;
    const { namespace } = key;
    const body = recordBody(key, owner, name, content, former);
    const options = { timeoutMs: requestTimeoutMs };
    return former === undefined
      ? await createObject<RecordObject>(api, recordResource, namespace, body, options)
      : await replaceObject<RecordObject>(api, recordResource, { namespace, name }, body, options);
  }

  async #get({ namespace }: RecordKey, name: string): Promise<ApiResult<RecordObject>> {
    return await getObject(this.#options.api, recordResource, { namespace, name }, { timeoutMs: requestTimeoutMs });
  }

  /** A failure leaves an object that the first save of the next process deletes. */
  async #releaseNamed(key: RecordKey, name: string): Promise<void> {
    const read = await this.#get(key, name);
    if (read.ok) await this.#release(read.value);
  }

  /** The first object goes first: without it there is no record. */
  async #releaseAll(key: RecordKey, { head, others }: Found): Promise<string | undefined> {
    for (const object of [...(head === undefined ? [] : [head]), ...others.values()]) {
      const fault = await this.#release(object);
      if (fault !== undefined) return unreachable(key, fault);
    }
    return undefined;
  }

  /** Removes the finalizer and deletes the object. Undefined if it no longer exists. */
  async #release(object: KubeObject): Promise<ApiFault | undefined> {
    const { api } = this.#options;
    const { namespace, name, uid } = object.metadata;
    const target = { type: recordResource, object, finalizer: recordFinalizer };
    const released = await setFinalizer(api, target, false);
    if (released.kind === "Failed") return released.fault;
    if (released.kind === "Gone") return undefined;
    const options = { timeoutMs: requestTimeoutMs, preconditions: { uid } };
    const deleted = await deleteObject(api, recordResource, { namespace: namespace ?? "", name }, options);
    return deleted.ok || deleted.fault.code === "NotFound" ? undefined : deleted.fault;
  }

  #remember(key: RecordKey, text: string): void {
    if (key.type === "Inventory" && this.#options.wasUninstalled !== undefined) this.#recoverable.set(idOf(key), text);
  }
}

function idOf(key: RecordKey): string {
  return `${key.type} ${nameKey(key)}`;
}

/** Covers the listed parts, too. */
function digestOf(text: string, parts: readonly PartRef[]): string {
  return hexDigest([text, ...parts.map(({ digest }) => digest)].join("\n"));
}

function joined(
  { metadata, spec }: RecordObject,
  others: ReadonlyMap<string, RecordObject>,
): { readonly text: string } | { readonly problem: string } {
  const { text = "", digest, parts = [], format } = spec ?? {};
  if (format !== recordFormat)
    return {
      problem: `it has format ${String(format)}, but this version of wafsync reads format ${recordFormat}: run the newer version that wrote it.`,
    };
  if (digestOf(text, parts) !== digest) return { problem: `the content of ${metadata.name} was changed.` };
  const texts = [text];
  for (const { name, digest: expected } of parts) {
    const part = others.get(name)?.spec?.text;
    if (part === undefined) return { problem: `its part ${name} is missing.` };
    if (hexDigest(part) !== expected) return { problem: `the content of its part ${name} was changed.` };
    texts.push(part);
  }
  return { text: texts.join("") };
}

function nameOf(key: RecordKey): string {
  return `WafRecord ${nameKey({ namespace: key.namespace, name: headName(key) })}`;
}

function damaged(key: RecordKey, problem: string): string {
  return `${nameOf(key)} can't be used: ${problem}`;
}

function changed(key: RecordKey): SavedRecord {
  return { state: "Conflict", problem: `${nameOf(key)} was changed by another writer after wafsync read it.` };
}

function refused(key: RecordKey, fault: ApiFault): SavedRecord {
  // NotFound: another writer deleted the loaded record.
  const isConflict = fault.code === "Conflict" || fault.code === "AlreadyExists" || fault.code === "NotFound";
  return isConflict ? changed(key) : failed(key, fault);
}

function failed(key: RecordKey, fault: ApiFault): SavedRecord {
  return { state: "Failed", problem: `${nameOf(key)} could not be written: ${asSentence(fault.message)}` };
}

function unreachable(key: RecordKey, fault: ApiFault): string {
  const { code, message } = fault;
  const isUnknown = code === "NotFound";
  const why = isUnknown ? "the API server does not know the kind WafRecord." : asSentence(message);
  const hint = isUnknown
    ? " Install the CRDs."
    : code === "Unavailable"
      ? " Check the connection to the API server."
      : "";
  return `${nameOf(key)} can't be accessed: ${why}${hint}`;
}

/**
 * The first line and the rest in parts of at most `2 * sizeMax` characters. Joined, they are the text. The lines determine where it is
 * divided: if one changes, only the part that contains it changes, and sometimes the next one. The first line is alone, because
 * nearly every save changes it; it is empty if it is longer than a part may be.
 */
export function splitText(
  text: string,
  sizeMax: number,
): { readonly first: string; readonly parts: readonly string[] } {
  const firstEnd = text.indexOf("\n") + 1;
  const first = firstEnd <= sizeMax ? text.slice(0, firstEnd) : "";
  const parts: string[] = [];
  const boundaryEvery = Math.ceil(sizeMax / 4 / lineBytes);
  let start = first.length;
  for (let lineStart = start; lineStart < text.length;) {
    const lineEnd = text.indexOf("\n", lineStart) + 1 || text.length;
    // Only very long lines are divided.
    while (lineEnd - start > 2 * sizeMax) {
      const end = lineStart > start ? lineStart : wholeEnd(text, start + 2 * sizeMax);
      parts.push(text.slice(start, end));
      start = end;
      lineStart = Math.max(lineStart, end);
    }
    const isBoundary = lineEnd - start >= sizeMax / 4 && crc32(text.slice(lineStart, lineEnd)) % boundaryEvery === 0;
    if (isBoundary || lineEnd === text.length) {
      parts.push(text.slice(start, lineEnd));
      start = lineEnd;
    }
    lineStart = lineEnd;
  }
  return { first, parts };
}

/** Never between the two halves of a character, which JSON would not keep. */
function wholeEnd(text: string, end: number): number {
  const code = text.charCodeAt(end);
  return code >= 0xdc00 && code <= 0xdfff ? end - 1 : end;
}

// The WafRecord objects of a record: their names and labels, and their binding to the instance or feed. With `deletionPolicy: Delete`
// the instance owns its records, and a finalizer keeps its inventory readable until the instance is released, even when a cascade
// or a namespace deletion deletes it. With `Retain`, a record has neither: it outlives the instance, and does not block deletions.

const recordResource: ResourceType = {
  group: apiGroup,
  version: apiVersionName,
  plural: pluralOf(recordKind),
  namespaced: true,
};

/** The version of the layout of objects that this program writes and reads. */
const recordFormat = 1;
/** Only inventories have it, and only with `deletionPolicy: Delete`. */
const recordFinalizer = `${apiGroup}/keep-record`;
/** The version that an object replaces. It makes every save a change, so that two concurrent saves can't both succeed. */
const followsAnnotation = `${apiGroup}/follows`;
const managedByLabel = "app.kubernetes.io/managed-by";
const managedBy = "wafsync";
const typeLabel = `${apiGroup}/record`;

/** The cached instance or feed of a record. */
export interface RecordOwner {
  /** Undefined for a folder, which is not in the cluster. */
  readonly uid: string | undefined;
  /** The record outlives its owner: an instance with `deletionPolicy: Retain`. */
  readonly retains: boolean;
}

/** @param object the instance or feed of the record. An instance without a deletion policy retains its entries. */
export function recordOwnerOf(
  { type }: Pick<RecordKey, "type">,
  object: { readonly metadata: KubeObjectMeta; readonly spec?: unknown } | undefined,
): RecordOwner | undefined {
  if (object === undefined) return undefined;
  const { metadata, spec } = object;
  const isDeleted = type === "Feed" || (isRecord(spec) && spec["deletionPolicy"] === "Delete");
  return { uid: metadata.uid, retains: !isDeleted };
}

interface RecordObject extends KubeObject {
  readonly spec?: Partial<WafRecordSpec>;
}

/** The part of an object that does not depend on its owner. */
type RecordContent = Pick<WafRecordSpec, "text" | "digest" | "parts">;

/** The first object of the record: it contains the text, or its first line and the names of the parts. */
function headName({ type, name }: Pick<RecordKey, "type" | "name">): string {
  return `${name}-${recordNames[type]}`;
}

function ownerKindOf({ type }: Pick<RecordKey, "type">): "instance" | "feed" | "folder" {
  if (type === "State") return "folder";
  return type === "Feed" ? "feed" : "instance";
}

/** Selects the objects of one record, or of all records of this type. */
function recordSelector(key: Pick<RecordKey, "type"> & { readonly name?: string }): string {
  const ownerLabel = `${apiGroup}/${ownerKindOf(key)}`;
  const ofOwner = key.name === undefined ? ownerLabel : `${ownerLabel}=${key.name}`;
  return `${managedByLabel}=${managedBy},${typeLabel}=${key.type},${ofOwner}`;
}

/** The name of the instance of an object; empty if there is none. */
function instanceNameOfRecord({ metadata: { labels = {} } }: KubeObject): string {
  return labels[`${apiGroup}/instance`] ?? "";
}

/** The whole object as it is written. `former` is the object that it replaces. */
function recordBody(
  key: RecordKey,
  owner: RecordOwner,
  name: string,
  { text, digest, parts }: RecordContent,
  former: KubeObjectMeta | undefined,
): object {
  const ownerKind = ownerKindOf(key);
  return {
    apiVersion,
    kind: recordKind,
    metadata: {
      name,
      namespace: key.namespace,
      labels: {
        ...former?.labels,
        [managedByLabel]: managedBy,
        [typeLabel]: key.type,
        [`${apiGroup}/${ownerKind}`]: key.name,
      },
      annotations: { ...former?.annotations, ...(former && { [followsAnnotation]: former.resourceVersion }) },
      finalizers: finalizersOf(key, owner, former),
      ownerReferences: ownersOf(key, owner),
      ...(former && { resourceVersion: former.resourceVersion }),
    },
    spec: {
      [ownerKind]: { name: key.name, uid: owner.uid },
      type: key.type,
      format: recordFormat,
      text,
      digest,
      ...(parts && { parts }),
    },
  };
}

/** Makes the garbage collector delete the record after its owner. Never blocks the deletion of the owner. */
function ownersOf(key: RecordKey, { uid, retains }: RecordOwner): object[] {
  const kind = key.type === "Feed" ? "WafFeed" : "WafInstance";
  return retains ? [] : [{ apiVersion, kind, name: key.name, uid, controller: true, blockOwnerDeletion: false }];
}

/** An object that is being deleted disappears with its last finalizer, and can't get a new one. */
function finalizersOf(key: RecordKey, owner: RecordOwner, former: KubeObjectMeta | undefined): readonly string[] {
  const stored = former?.finalizers ?? [];
  if (former?.deletionTimestamp !== undefined) return stored;
  const others = stored.filter((finalizer) => finalizer !== recordFinalizer);
  return key.type === "Inventory" && !owner.retains ? [...others, recordFinalizer] : others;
}

/** Whether a write would change only its content. */
function isHeldFor(key: RecordKey, { uid, retains }: RecordOwner, { metadata, spec }: RecordObject): boolean {
  const { finalizers = [], ownerReferences = [], deletionTimestamp } = metadata;
  const isKept = finalizers.includes(recordFinalizer) === (key.type === "Inventory" && !retains);
  const named = spec?.[ownerKindOf(key)] as { readonly uid?: string } | undefined;
  const isOwned = ownerReferences.some((reference) => isRecord(reference) && reference["uid"] === uid);
  return (
    (isKept || deletionTimestamp !== undefined) &&
    (retains ? ownerReferences.length === 0 : isOwned) &&
    named?.uid === uid
  );
}

/** A feed can be fetched again, so the record of a former feed of the same name counts as absent. */
function isOfFormerFeed({ type }: RecordKey, owner: RecordOwner | undefined, { spec }: RecordObject): boolean {
  return type === "Feed" && owner !== undefined && spec?.feed?.uid !== owner.uid;
}
