// The ConfigMaps and Secrets that rules take addresses from, and the Secrets with API keys. A watch of the metadata of ConfigMaps shows which of them exist and in which
// version, and one that a rule uses is read when its version changes. Secrets are not watched, because that needs the permission to list
// them all: one that a rule uses is read again after a while. The same text is the same object, so that it is parsed only once. What
// can't be read keeps its last content, and the problem is reported until it can be read again.
import type { Clock } from "../../async/clock.ts";
import { FairGate } from "../../async/fair-gate.ts";
import { Turns } from "../../async/turns.ts";
import type { ApiFault, ApiResult, ApiServer } from "../../kube/api-server.ts";
import { isRecord, type KubeObject } from "../../kube/kube-object.ts";
import type { ObjectView } from "../../kube/store.ts";
import { getObject } from "../../kube/verbs.ts";
import type { TextSource } from "../../model/address-source.ts";
import type { AddressText } from "../../model/gathered.ts";
import { nameKey } from "../../model/resource.ts";
import { inThousands } from "../../model/texts.ts";
import { keysInWords } from "../gather.ts";
import { coreType, type SourceObject, sourceKey } from "./cluster-object.ts";

const requestTimeoutMs = 10_000;
/** Lower than the number of connections to the API server. Namespaces take turns. */
const readsAtOnceMax = 4;
/** The number of objects that `retry` reads again: those that were not read for the longest time. */
const retriesMax = 20;

/** The object that contains the text. */
export type DataObject = Omit<TextSource, "key">;

interface Content {
  /** Undefined if the object does not exist. */
  readonly version: string | undefined;
  /** By data key. */
  readonly texts: ReadonlyMap<string, AddressText>;
}

class Known {
  readonly object: DataObject;
  /** The largest text that any of its users may have, in characters. */
  lengthMax = 0;
  /** Undefined until the first read ends. */
  content: Content | undefined;
  /** Of the last read. */
  fault: ApiFault | undefined;
  /** When the last read began. */
  readAtMs = 0;
  readonly reads = new Turns();
  /** A read that has not begun. */
  next: Promise<void> | undefined;

  constructor({ kind, namespace, name }: DataObject) {
    this.object = { kind, namespace, name };
  }
}

export interface DataTextsOptions {
  readonly api: ApiServer;
  readonly clock: Pick<Clock, "monotonicMs">;
  /** The metadata of all ConfigMaps. */
  readonly watched: ObjectView<KubeObject>;
  /** Whether reads in this namespace do not wait for those in other namespaces. */
  readonly goesFirst?: (namespace: string) => boolean;
  /** Called when the content of an object that was read before has changed, or whether it can be read. */
  readonly onChanged?: (object: DataObject) => void;
}

export interface LoadOptions {
  /** Longer texts are not kept, because a guest could otherwise fill the memory. In characters. */
  readonly lengthMax: number;
  /** How old the content of a Secret may be. */
  readonly ageMsMax: number;
  /** Reads the object even if the watch shows no other version, because the watch may lag behind. */
  readonly isFresh: boolean;
}

export class DataTexts {
  readonly #options: DataTextsOptions;
  readonly #known = new Map<string, Known>();
  readonly #gate = new FairGate({ atOnceMax: readsAtOnceMax });

  constructor(options: DataTextsOptions) {
    this.#options = options;
  }

  /** Reads the object, unless its last content is current. Never rejects. */
  async load(object: DataObject, { lengthMax, ageMsMax, isFresh }: LoadOptions): Promise<void> {
    const known = this.#knownOf(object);
    const isCut = lengthMax > known.lengthMax && known.content !== undefined;
    known.lengthMax = Math.max(known.lengthMax, lengthMax);
    if (isFresh || isCut) return await this.#readAnew(known);
    // A guest can refer to thousands of ConfigMaps that do not exist. The watch shows when they appear.
    if (known.content === undefined && this.#isShownMissing(object)) known.content = absent;
    if (this.#isCurrent(known, ageMsMax)) return;
    await known.reads.ended();
    if (!this.#isCurrent(known, ageMsMax)) await this.#readAnew(known);
  }

  /** The last content, of which `load` determines the age. */
  text(source: TextSource): AddressText {
    const { kind, key } = source;
    const object = sourceKey(source);
    const { content } = this.#known.get(object) ?? {};
    const missing = (problem: string): AddressText => ({ state: "Missing", source, problem });
    if (content === undefined) return missing(this.problem(source) ?? `${object} is still being read.`);
    if (content.version === undefined)
      return missing(`There is no ${object}: create it, or correct spec.addressesFrom.`);
    // The author of the rule may not be allowed to read the Secret.
    const has = kind === "Secret" ? "correct spec.addressesFrom" : keysInWords(content.texts.keys());
    return content.texts.get(key) ?? missing(`${object} has no key ${key}: ${has}.`);
  }

  /** Why the last read of the object failed; undefined if it succeeded. */
  problem(object: DataObject): string | undefined {
    const { fault } = this.read(object);
    return fault && `${sourceKey(object)} could not be read: ${fault.message}`;
  }

  /** The last content; without texts if the object does not exist, or was never read. */
  read(object: DataObject): { readonly fault?: ApiFault | undefined; readonly texts?: Content["texts"] | undefined } {
    const { fault, content } = this.#known.get(sourceKey(object)) ?? {};
    return { fault, texts: content?.version === undefined ? undefined : content.texts };
  }

  /** The watch shows another version of a ConfigMap: it is read if it was read before. */
  configMapChanged({ metadata: { namespace = "", name } }: KubeObject): void {
    const known = this.#known.get(sourceKey({ kind: "ConfigMap", namespace, name }));
    if (known !== undefined) void this.load(known.object, { lengthMax: 0, ageMsMax: 0, isFresh: false });
  }

  /** Reads again what could not be read, missing Secrets, and these objects. Never rejects. */
  async retry(incomplete: readonly SourceObject[] = []): Promise<void> {
    const wanted = new Set(incomplete.map(sourceKey));
    const unread = [...this.#known.values()].filter(({ object, content, fault }) => {
      const isMissing = object.kind !== "ConfigMap" && content !== undefined && content.version === undefined;
      return fault !== undefined || isMissing || wanted.has(sourceKey(object));
    });
    const due = unread.toSorted((a, b) => a.readAtMs - b.readAtMs).slice(0, retriesMax);
    await Promise.all(due.map(async (known) => await this.#readAnew(known)));
  }

  /** Makes the next `load` read the object, if it is a Secret. */
  refresh(object: SourceObject): void {
    const known = this.#known.get(sourceKey(object));
    if (known !== undefined) known.readAtMs = Number.NEGATIVE_INFINITY;
  }

  /** Call this when no rule uses the object any longer. */
  forget(object: SourceObject): void {
    this.#known.delete(sourceKey(object));
  }

  #isShownMissing(object: DataObject): boolean {
    return object.kind === "ConfigMap" && this.#options.watched.get(nameKey(object)) === undefined;
  }

  #isCurrent({ object, content, fault, readAtMs }: Known, ageMsMax: number): boolean {
    if (content === undefined) return false;
    if (object.kind !== "ConfigMap")
      return fault === undefined && this.#options.clock.monotonicMs() - readAtMs < ageMsMax;
    const seen = this.#options.watched.get(nameKey(object));
    return content.version === (seen === undefined ? undefined : versionOf(seen));
  }

  /** The result of a read that begins after this call. */
  async #readAnew(known: Known): Promise<void> {
    const { namespace } = known.object;
    const goesFirst = this.#options.goesFirst?.(namespace) === true;
    const begin = async (): Promise<void> => {
      known.next = undefined;
      await this.#read(known);
    };
    known.next ??= known.reads.run(async () => await this.#gate.run(namespace, begin, { goesFirst }));
    await known.next;
  }

  async #read(known: Known): Promise<void> {
    const { api, clock, onChanged } = this.#options;
    const { object, content: former, fault: formerFault } = known;
    known.readAtMs = clock.monotonicMs();
    const read = await readData(api, object);
    if (read.ok || read.fault.code === "NotFound") {
      known.fault = undefined;
      known.content = read.ok ? contentOf(known, read.value) : absent;
    } else known.fault = read.fault;
    const isFirst = former === undefined && formerFault === undefined;
    const isOther = !sameTexts(former, known.content) || (formerFault === undefined) !== (known.fault === undefined);
    if (!isFirst && isOther) onChanged?.(object);
  }

  #knownOf(object: DataObject): Known {
    const key = sourceKey(object);
    const known = this.#known.get(key) ?? new Known(object);
    this.#known.set(key, known);
    return known;
  }
}

interface Data {
  readonly version: string;
  readonly data: ReadonlyMap<string, string>;
}

/** Reads a ConfigMap, or decodes a Secret. */
export async function readData(api: ApiServer, object: DataObject): Promise<ApiResult<Data>> {
  const isSecret = object.kind === "Secret";
  const options = { timeoutMs: requestTimeoutMs };
  const read = await getObject<KubeObject & { readonly data?: unknown }>(api, coreType(object.kind), object, options);
  if (!read.ok) return read;
  const entries = Object.entries(isRecord(read.value.data) ? read.value.data : {});
  const decoded = (value: unknown): string => Buffer.from(String(value), "base64").toString("utf8");
  const data = new Map(entries.map(([key, value]) => [key, isSecret ? decoded(value) : String(value)]));
  return { ...read, value: { version: versionOf(read.value), data } };
}

const absent: Content = { version: undefined, texts: new Map() };

/** Equal texts are the same objects as in the former content. */
function contentOf({ object, content: former, lengthMax }: Known, { version, data }: Data): Content {
  const texts = [...data].map(([key, text]): [string, AddressText] => {
    const source = { ...object, key };
    const known = former?.texts.get(key);
    if (text.length > lengthMax) {
      const problem = `${sourceKey(object)} has more than the ${inThousands(lengthMax)} characters that the grant allows: remove lines, or ask the owner of the instance to raise maxEntries.`;
      const isSame = known?.state === "Missing" && known.problem === problem;
      return [key, isSame ? known : { state: "Missing", source, problem }];
    }
    const isSame = known?.state === "Read" && known.text === text;
    return [key, isSame ? known : { state: "Read", source, text }];
  });
  return { version, texts: new Map(texts) };
}

function sameTexts(left: Content | undefined, right: Content | undefined): boolean {
  if (left === undefined || right === undefined) return left === right;
  const isSameSize = left.texts.size === right.texts.size;
  const existBoth = (left.version === undefined) === (right.version === undefined);
  return isSameSize && existBoth && [...left.texts].every(([key, text]) => right.texts.get(key) === text);
}

function versionOf({ metadata }: KubeObject): string {
  return `${metadata.uid} ${metadata.resourceVersion}`;
}
