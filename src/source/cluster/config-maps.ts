// The ConfigMaps that rules take addresses from. A watch of their metadata shows which of them exist and in which version, and one
// that a rule uses is read when its version changes. The same text is the same object, so that it is parsed only once. A ConfigMap
// that can't be read keeps its last content, and the problem is reported until it can be read again.
import { FairGate } from "../../async/fair-gate.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import type { KubeObject } from "../../kube/kube-object.ts";
import type { ObjectView } from "../../kube/store.ts";
import { getObject } from "../../kube/verbs.ts";
import { describeSource } from "../../model/address-source.ts";
import type { AddressText } from "../../model/gathered.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";
import { inThousands } from "../../model/sentence.ts";
import { keysInWords } from "../gather.ts";
import { type ConfigMapObject, configMapType } from "./cluster-object.ts";

const requestTimeoutMs = 10_000;
/** Lower than the number of connections to the API server. Namespaces take turns. */
const readsAtOnceMax = 4;

interface Content {
  /** Undefined if the ConfigMap does not exist. */
  readonly version: string | undefined;
  /** By data key. Longer texts than allowed are missing. */
  readonly texts: ReadonlyMap<string, AddressText>;
  /** A description of its keys. */
  readonly has: string;
}

interface Known {
  readonly name: ObjectName;
  /** The largest text that any of its users may have, in characters. */
  lengthMax: number;
  /** Undefined until the first read ends. */
  content: Content | undefined;
  /** Why the last read failed. */
  problem: string | undefined;
  reading: Promise<void> | undefined;
  /** A read that begins after `reading`. */
  following: Promise<void> | undefined;
}

export interface ConfigMapsOptions {
  readonly api: ApiServer;
  /** The metadata of all ConfigMaps. */
  readonly watched: ObjectView<KubeObject>;
  /** Whether reads in this namespace do not wait for those in other namespaces. */
  readonly goesFirst?: (namespace: string) => boolean;
  /** Called when the content of a ConfigMap that was read before has changed, or whether it can be read. */
  readonly onChanged?: (mapKey: string) => void;
}

export interface LoadOptions {
  /** Longer texts are not kept, because a guest could otherwise fill the memory. In characters. */
  readonly lengthMax: number;
  /** Reads the ConfigMap even if the watch shows no other version, because the watch may lag behind. */
  readonly isFresh: boolean;
}

export class ConfigMaps {
  readonly #options: ConfigMapsOptions;
  readonly #known = new Map<string, Known>();
  readonly #gate = new FairGate({ atOnceMax: readsAtOnceMax });

  constructor(options: ConfigMapsOptions) {
    this.#options = options;
  }

  /** Reads the ConfigMap, unless its last content is current. Never rejects. */
  async load(name: ObjectName, { lengthMax, isFresh }: LoadOptions): Promise<void> {
    const known = this.#knownOf(name);
    const isCut = lengthMax > known.lengthMax && [...(known.content?.texts.values() ?? [])].some(isTooLarge);
    known.lengthMax = Math.max(known.lengthMax, lengthMax);
    if (isFresh || isCut) return await this.#readAnew(known);
    // A guest can refer to thousands of ConfigMaps that do not exist. The watch shows when they appear.
    if (known.content === undefined && this.#options.watched.get(nameKey(name)) === undefined) known.content = absent;
    if (this.#isCurrent(known)) return;
    await known.reading;
    if (!this.#isCurrent(known)) await this.#readAnew(known);
  }

  /** The last content, of which `load` determines the age. */
  text(name: ObjectName, key: string): AddressText {
    const source = describeSource({ kind: "ConfigMap", ...name, key });
    const { content, problem } = this.#known.get(nameKey(name)) ?? {};
    if (content === undefined) {
      return { state: "Missing", source, problem: problem ?? `ConfigMap ${nameKey(name)} is still being read.` };
    }
    if (content.version === undefined) {
      const missing = `There is no ConfigMap ${nameKey(name)}: create it, or correct spec.addressesFrom.`;
      return { state: "Missing", source, problem: missing };
    }
    const text = content.texts.get(key);
    return (
      text ?? { state: "Missing", source, problem: `ConfigMap ${nameKey(name)} has no key ${key}: ${content.has}.` }
    );
  }

  /** Why the last read of the ConfigMap failed; undefined if it succeeded. */
  problem(name: ObjectName): string | undefined {
    return this.#known.get(nameKey(name))?.problem;
  }

  /** The watch shows another version: the ConfigMap is read if it was read before. */
  changed({ metadata: { namespace = "", name } }: KubeObject): void {
    const known = this.#known.get(nameKey({ namespace, name }));
    if (known !== undefined) void this.load(known.name, { lengthMax: known.lengthMax, isFresh: false });
  }

  /** Reads again what could not be read. Never rejects. */
  async retry(): Promise<void> {
    const failed = [...this.#known.values()].filter(({ problem }) => problem !== undefined);
    await Promise.all(failed.map(async (known) => await this.#readAnew(known)));
  }

  /** Call this when no rule uses the ConfigMap any longer. */
  forget(mapKey: string): void {
    this.#known.delete(mapKey);
  }

  #isCurrent({ name, content }: Known): boolean {
    const seen = this.#options.watched.get(nameKey(name));
    return content !== undefined && content.version === (seen === undefined ? undefined : versionOf(seen));
  }

  /** The result of a read that begins after this call. */
  async #readAnew(known: Known): Promise<void> {
    known.following ??= this.#readNext(known);
    await known.following;
  }

  async #readNext(known: Known): Promise<void> {
    await known.reading;
    const { namespace } = known.name;
    const goesFirst = this.#options.goesFirst?.(namespace) === true;
    const begin = async (): Promise<void> => {
      known.following = undefined;
      await this.#read(known);
    };
    known.reading = this.#gate.run(namespace, begin, { goesFirst }).finally(() => (known.reading = undefined));
    await known.reading;
  }

  async #read(known: Known): Promise<void> {
    const { api, onChanged } = this.#options;
    const { name, content: former, problem: formerProblem } = known;
    const read = await getObject<ConfigMapObject>(api, configMapType, name, { timeoutMs: requestTimeoutMs });
    if (read.ok || read.fault.code === "NotFound") {
      known.problem = undefined;
      known.content = contentOf(name, read.ok ? read.value : undefined, known);
    } else known.problem = `ConfigMap ${nameKey(name)} could not be read: ${read.fault.message}`;
    const isFirst = former === undefined && formerProblem === undefined;
    const isOther =
      !sameTexts(former, known.content) || (formerProblem === undefined) !== (known.problem === undefined);
    if (!isFirst && isOther) onChanged?.(nameKey(name));
  }

  #knownOf(name: ObjectName): Known {
    const key = nameKey(name);
    const fresh = { lengthMax: 0, content: undefined, problem: undefined, reading: undefined, following: undefined };
    const known = this.#known.get(key) ?? { name, ...fresh };
    this.#known.set(key, known);
    return known;
  }
}

const absent: Content = { version: undefined, texts: new Map(), has: "" };

/** Equal texts are the same objects as in the former content. */
function contentOf(
  name: ObjectName,
  object: ConfigMapObject | undefined,
  { content: former, lengthMax }: Pick<Known, "content" | "lengthMax">,
): Content {
  if (object === undefined) return absent;
  const data = object.data ?? {};
  const texts = Object.entries(data).map(([key, text]): [string, AddressText] => {
    const source = describeSource({ kind: "ConfigMap", ...name, key });
    const known = former?.texts.get(key);
    if (text.length > lengthMax)
      return [key, { state: "Missing", source, problem: tooLong(name, lengthMax), isTooLarge: true }];
    return [key, known?.state === "Read" && known.text === text ? known : { state: "Read", source, text }];
  });
  return { version: versionOf(object), texts: new Map(texts), has: keysInWords(Object.keys(data)) };
}

function tooLong(name: ObjectName, lengthMax: number): string {
  return `ConfigMap ${nameKey(name)} has more than the ${inThousands(lengthMax)} characters that the grant allows: remove lines, or ask the owner of the instance to raise maxEntries.`;
}

function isTooLarge(text: AddressText): boolean {
  return text.state === "Missing" && text.isTooLarge === true;
}

function sameTexts(left: Content | undefined, right: Content | undefined): boolean {
  if (left === undefined || right === undefined) return left === right;
  if ((left.version === undefined) !== (right.version === undefined) || left.texts.size !== right.texts.size)
    return false;
  return [...left.texts].every(([key, text]) => {
    const other = right.texts.get(key);
    return text === other || (other !== undefined && isTooLarge(text) && isTooLarge(other));
  });
}

function versionOf({ metadata }: KubeObject): string {
  return `${metadata.uid} ${metadata.resourceVersion}`;
}
