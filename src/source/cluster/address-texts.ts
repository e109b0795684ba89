// The contents of the ConfigMaps that rules use, restricted to the keys that rules refer to. A ConfigMap with the watch label is
// read again when the watch reports a new version, the others periodically. The same text results in the same object, so that it
// is parsed only once. If a ConfigMap can't be reread, its last text is kept and a problem is reported, which puts removals on
// hold.
import { createHash } from "node:crypto";
import type { Clock } from "../../async/clock.ts";
import { FairGate } from "../../async/fair-gate.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import type { KubeObject } from "../../kube/kube-object.ts";
import type { ObjectView } from "../../kube/store.ts";
import { getMetadata, getObject } from "../../kube/verbs.ts";
import type { DeclaredRule } from "../../model/declared.ts";
import type { AddressText } from "../../model/gathered.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";
import { keysInWords } from "../data-keys.ts";
import { type ConfigMapObject, configMapType } from "./cluster-object.ts";
import { linesIn } from "./source-budget.ts";

const requestTimeoutMs = 10_000;
/** Less than the number of connections to the API server. Namespaces take turns. */
const readsAtOnceMax = 2;

export interface ReadTexts {
  readonly texts: readonly AddressText[];
  /** The number of lines of dropped texts, which are treated as missing. */
  readonly linesDropped?: number;
  /** What could not be read, one sentence each. */
  readonly problems: readonly string[];
  /** Unwatched ConfigMaps that do not exist or lack a key. */
  readonly missing: readonly ObjectName[];
}

export interface Freshness {
  /** Reads that started before this moment, in monotonic time, are repeated. */
  readonly notBeforeMs: number;
  /** Also reads watched ConfigMaps from the API server, because a watch may lag behind. */
  readonly bypassWatch: boolean;
}

/** The cached data of a ConfigMap. */
interface Content {
  readonly uid: string;
  readonly version: string;
  /** The keys that rules referred to when it was read. */
  readonly wanted: ReadonlySet<string>;
  readonly data: Map<string, string>;
  /** Keys whose text was too large to keep. */
  readonly dropped: Map<string, { readonly lines: number; readonly digest: string }>;
  /** A description of its keys. */
  readonly has: string;
}

/** `content` is undefined if the ConfigMap does not exist. */
interface Reading {
  readonly content: Content | undefined;
  readonly problem?: string;
}

interface Known {
  reading: Reading | undefined;
  /** When the request for `reading` started. */
  readAtMs: number;
  /** Data that was read before this time is outdated. */
  changedAtMs: number;
  underWay: { readonly startedMs: number; readonly reading: Promise<Reading> } | undefined;
  /** By data key. */
  readonly texts: Map<string, Extract<AddressText, { state: "Read" }>>;
}

export interface AddressTextsOptions {
  readonly api: ApiServer;
  readonly clock: Pick<Clock, "monotonicMs">;
  /** The ConfigMaps with the watch label. */
  readonly watched: ObjectView<KubeObject>;
  /** The keys of the ConfigMap that rules refer to. */
  readonly wantedOf: (mapKey: string) => ReadonlySet<string>;
  /** Called when a read returns different data than the previous one. */
  readonly onChanged: (mapKey: string) => void;
}

export class AddressTexts {
  readonly #options: AddressTextsOptions;
  readonly #known = new Map<string, Known>();
  readonly #gate = new FairGate(readsAtOnceMax);

  constructor(options: AddressTextsOptions) {
    this.#options = options;
  }

  /** One text for each of the rule's `addressesFrom`. Never rejects. */
  async read(
    { meta, addressesFrom }: Pick<DeclaredRule, "meta" | "addressesFrom">,
    freshness: Freshness,
  ): Promise<ReadTexts> {
    const problems = new Set<string>();
    const missing = new Map<string, ObjectName>();
    let linesDropped = 0;
    const texts = await Promise.all(
      addressesFrom.map(async ({ name, key }) => {
        const mapName = { namespace: meta.namespace, name };
        const { content, problem } = await this.#content(mapName, key, freshness);
        if (problem !== undefined) problems.add(problem);
        linesDropped += content?.dropped.get(key)?.lines ?? 0;
        const text = this.#textOf(mapName, key, content, problem);
        if (text.state === "Missing" && text.isTooLarge !== true && !this.isWatched(mapName))
          missing.set(nameKey(mapName), mapName);
        return text;
      }),
    );
    return { texts, linesDropped, problems: [...problems], missing: [...missing.values()] };
  }

  /** Frees unused texts. A later `read` returns only their number of lines. */
  drop(
    { meta, addressesFrom }: Pick<DeclaredRule, "meta" | "addressesFrom">,
    isUsed: (source: string) => boolean,
  ): void {
    for (const { name, key } of addressesFrom) {
      const mapName = { namespace: meta.namespace, name };
      const known = this.#known.get(nameKey(mapName));
      const { data, dropped } = known?.reading?.content ?? {};
      const text = data?.get(key);
      if (text === undefined || isUsed(sourceOf(mapName, key))) continue;
      dropped?.set(key, { lines: linesIn(text), digest: digestOf(text) });
      data?.delete(key);
      known?.texts.delete(key);
    }
  }

  /**
   * Reads the ConfigMap again if it has another version, so that `onChanged` is called if its data differs. Reads its metadata
   * first, unless a watch showed that it changed. Returns false if it can't be read.
   */
  async check(name: ObjectName): Promise<boolean> {
    const before = this.#known.get(nameKey(name))?.reading?.content;
    if (!this.isWatched(name)) {
      const seen = await getMetadata(this.#options.api, configMapType, name, { timeoutMs: requestTimeoutMs });
      if (!seen.ok && seen.fault.code !== "NotFound") return false;
      if ((seen.ok ? versionOf(seen.value) : undefined) === before?.version) return true;
    }
    const notBeforeMs = this.#options.clock.monotonicMs();
    const { problem } = await this.#content(name, undefined, { notBeforeMs, bypassWatch: true });
    return problem === undefined;
  }

  /** Whether the ConfigMap has been read or is being read. */
  isUsed(mapKey: string): boolean {
    const known = this.#known.get(mapKey);
    return known?.reading !== undefined || known?.underWay !== undefined;
  }

  /** Whether a watch covers the ConfigMap. */
  isWatched(name: ObjectName): boolean {
    return this.#options.watched.get(nameKey(name)) !== undefined;
  }

  /** The next `read` asks the API server. */
  refresh(mapKey: string): void {
    const known = this.#known.get(mapKey);
    if (known !== undefined) known.changedAtMs = this.#options.clock.monotonicMs();
  }

  /** Call this when no rule uses the ConfigMap any longer. */
  forget(mapKey: string): void {
    this.#known.delete(mapKey);
  }

  async #content(name: ObjectName, key: string | undefined, freshness: Freshness): Promise<Reading> {
    const known = this.#knownOf(name);
    const isCovered = this.isWatched(name) && !freshness.bypassWatch;
    const notBeforeMs = Math.max(known.changedAtMs, isCovered ? Number.NEGATIVE_INFINITY : freshness.notBeforeMs);
    if (known.reading !== undefined && known.readAtMs >= notBeforeMs && isKept(known.reading, key)) {
      return known.reading;
    }
    if (known.underWay !== undefined && known.underWay.startedMs >= notBeforeMs) {
      const reading = await known.underWay.reading;
      if (isKept(reading, key)) return reading;
    }
    const startedMs = this.#options.clock.monotonicMs();
    const reading = this.#readAnew(name, known, startedMs);
    const underWay = { startedMs, reading };
    known.underWay = underWay;
    const result = await reading;
    if (known.underWay === underWay) known.underWay = undefined;
    return result;
  }

  async #readAnew(name: ObjectName, known: Known, startedMs: number): Promise<Reading> {
    const { api, wantedOf, onChanged } = this.#options;
    const mapKey = nameKey(name);
    const read = await this.#gate.run(name.namespace, async () => {
      return await getObject<ConfigMapObject>(api, configMapType, name, { timeoutMs: requestTimeoutMs });
    });
    const former = known.reading;
    if (!read.ok && read.fault.code !== "NotFound") {
      const problem = `ConfigMap ${mapKey} could not be read: ${read.fault.message}`;
      return { content: former?.content, problem };
    }
    const reading = { content: read.ok ? contentOf(read.value, wantedOf(mapKey)) : undefined };
    if (former === undefined || startedMs >= known.readAtMs) {
      known.reading = reading;
      known.readAtMs = startedMs;
      if (former !== undefined && !sameContent(former.content, reading.content)) onChanged(mapKey);
    }
    return reading;
  }

  #textOf(name: ObjectName, key: string, content: Content | undefined, problem: string | undefined): AddressText {
    const source = sourceOf(name, key);
    if (content === undefined) {
      const is = problem ?? `There is no ConfigMap ${nameKey(name)}: create it, or correct spec.addressesFrom.`;
      return { state: "Missing", source, problem: is };
    }
    const text = content.data.get(key);
    if (text === undefined && content.dropped.has(key)) {
      return { state: "Missing", source, problem: `ConfigMap ${nameKey(name)} is too large.`, isTooLarge: true };
    }
    if (text === undefined) {
      return { state: "Missing", source, problem: `ConfigMap ${nameKey(name)} has no key ${key}: ${content.has}.` };
    }
    const { texts } = this.#knownOf(name);
    const former = texts.get(key);
    if (former?.text === text) return former;
    const fresh = { state: "Read", source, text } as const;
    texts.set(key, fresh);
    return fresh;
  }

  #knownOf(name: ObjectName): Known {
    const key = nameKey(name);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const never = Number.NEGATIVE_INFINITY;
    const fresh: Known = {
      reading: undefined,
      readAtMs: never,
      changedAtMs: never,
      underWay: undefined,
      texts: new Map(),
    };
    this.#known.set(key, fresh);
    return fresh;
  }
}

function contentOf({ metadata, data }: ConfigMapObject, wanted: ReadonlySet<string>): Content {
  const all = data ?? {};
  const kept = new Map([...wanted].flatMap((key) => (Object.hasOwn(all, key) ? [[key, all[key] ?? ""]] : [])));
  const has = keysInWords(Object.keys(all));
  return { uid: metadata.uid, version: versionOf({ metadata }), wanted, data: kept, dropped: new Map(), has };
}

/** Whether the cached data includes the key. */
function isKept({ content }: Reading, key: string | undefined): boolean {
  return key === undefined || content === undefined || content.wanted.has(key);
}

function versionOf({ metadata }: KubeObject): string {
  return `${metadata.uid} ${metadata.resourceVersion}`;
}

/** Compares the keys that both have. */
function sameContent(left: Content | undefined, right: Content | undefined): boolean {
  if (left === undefined || right === undefined) return left === right;
  if (left.uid !== right.uid) return false;
  return [...right.wanted].every((key) => {
    const dropped = left.dropped.get(key)?.digest;
    const text = right.data.get(key);
    if (dropped !== undefined) return text !== undefined && digestOf(text) === dropped;
    return !left.wanted.has(key) || left.data.get(key) === text;
  });
}

function sourceOf(name: ObjectName, key: string): string {
  return `ConfigMap ${nameKey(name)}, key ${key}`;
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}
