// The contents of the ConfigMaps that rules use, restricted to the keys that rules refer to. A ConfigMap with the watch label is
// read again when the watch reports a new version, the others periodically. The same text results in the same object, so that it
// is parsed only once. If a ConfigMap can't be reread, its last text is kept, and the reported problem puts removals on
// hold. If a read takes longer than its caller waits, the last text is used, or none yet, and `onChanged` reports its end.
import { hexDigest } from "../../model/hex-digest.ts";
import type { Clock } from "../../async/clock.ts";
import { withDeadline } from "../../async/deadline.ts";
import { FairGate } from "../../async/fair-gate.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import type { KubeObject } from "../../kube/kube-object.ts";
import type { ObjectView } from "../../kube/store.ts";
import { getMetadata, getObject } from "../../kube/verbs.ts";
import type { DeclaredRule } from "../../model/declared.ts";
import type { AddressText } from "../../model/gathered.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";
import { type ConfigMapObject, configMapType } from "./cluster-object.ts";
import { type ConfigMapContent, contentOf, sameContent, versionOf } from "./config-map-content.ts";
import { linesIn } from "./source-budget.ts";

const requestTimeoutMs = 10_000;
/** Lower than the number of connections to the API server. Namespaces take turns. */
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
  /**
   * Until when to wait for the ConfigMaps, in monotonic time; without limit if undefined. With `bypassWatch`, the limit applies
   * only to ConfigMaps that were never read: a text that may be outdated is not used then.
   */
  readonly waitUntilMs?: number;
  /** Also reads texts again that were dropped. */
  readonly restoresDropped?: true;
}

/** `content` is undefined if the ConfigMap does not exist, or was not read yet. */
interface Reading {
  readonly content: ConfigMapContent | undefined;
  readonly problem?: string;
  /** Its first read takes longer than the caller waits. */
  readonly isUnread?: true;
}

interface Known {
  reading: Reading | undefined;
  /** When the request for `reading` started. */
  readAtMs: number;
  /** Data that was read before this time is outdated. */
  changedAtMs: number;
  underWay: { readonly startedMs: number; readonly reading: Promise<Reading> } | undefined;
  /** A caller continued without the result of `underWay`: `onChanged` reports its end. */
  isLate: boolean;
  /** By data key. */
  readonly texts: Map<string, Extract<AddressText, { state: "Read" }>>;
}

export interface AddressTextsOptions {
  readonly api: ApiServer;
  readonly clock: Clock;
  /** The ConfigMaps with the watch label. */
  readonly watched: ObjectView<KubeObject>;
  /** Whether reads in this namespace do not wait for those in other namespaces. */
  readonly goesFirst?: (namespace: string) => boolean;
  /** The keys of the ConfigMap that rules refer to. */
  readonly wantedOf: (mapKey: string) => ReadonlySet<string>;
  /** Called when a read returns different data than the previous one, and when one ends for which a caller did not wait. */
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
        const { content, problem, isUnread } = await this.#content(mapName, key, freshness);
        if (isUnread === true) return stillRead(mapName, key);
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
      dropped?.set(key, { lines: linesIn(text), digest: hexDigest(text) });
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
    const { bypassWatch, restoresDropped, waitUntilMs } = freshness;
    const isCovered = this.isWatched(name) && !bypassWatch;
    const notBeforeMs = Math.max(known.changedAtMs, isCovered ? Number.NEGATIVE_INFINITY : freshness.notBeforeMs);
    const { reading } = known;
    if (reading !== undefined && known.readAtMs >= notBeforeMs && isKept(reading, key)) {
      if (restoresDropped !== true || key === undefined || reading.content?.dropped.has(key) !== true) return reading;
    }
    if (waitUntilMs === undefined || (bypassWatch && reading !== undefined)) {
      return await this.#readSince(name, known, key, notBeforeMs);
    }
    const read = await this.#readInTime(name, known, { key, notBeforeMs, waitUntilMs });
    if (read !== undefined) return read;
    // A fresh read never relies on an older one.
    const last = bypassWatch ? undefined : known.reading;
    return last !== undefined && isKept(last, key) ? last : { content: undefined, isUnread: true };
  }

  /** Undefined if it takes too long. No caller waits for a read that was too slow for another one. */
  async #readInTime(
    name: ObjectName,
    known: Known,
    { key, notBeforeMs, waitUntilMs }: { key: string | undefined; notBeforeMs: number; waitUntilMs: number },
  ): Promise<Reading | undefined> {
    if (known.isLate && known.underWay !== undefined) return undefined;
    const { clock, onChanged } = this.#options;
    const reading = this.#readSince(name, known, key, notBeforeMs);
    const timeoutMs = Math.max(0, waitUntilMs - clock.monotonicMs());
    const read = await withDeadline({ clock, timeoutMs }, async () => await reading);
    if (read.inTime) return read.value;
    known.isLate = known.underWay !== undefined;
    // The read has just ended.
    if (!known.isLate) onChanged(nameKey(name));
    return undefined;
  }

  /** The result of a read that started at this moment or later. */
  async #readSince(name: ObjectName, known: Known, key: string | undefined, notBeforeMs: number): Promise<Reading> {
    if (known.underWay !== undefined && known.underWay.startedMs >= notBeforeMs) {
      const reading = await known.underWay.reading;
      if (isKept(reading, key)) return reading;
    }
    const startedMs = this.#options.clock.monotonicMs();
    const reading = this.#readAnew(name, known, startedMs);
    const underWay = { startedMs, reading };
    known.underWay = underWay;
    const result = await reading;
    if (known.underWay === underWay) {
      known.underWay = undefined;
      if (known.isLate) this.#options.onChanged(nameKey(name));
      known.isLate = false;
    }
    return result;
  }

  async #readAnew(name: ObjectName, known: Known, startedMs: number): Promise<Reading> {
    const { api, wantedOf, onChanged, goesFirst } = this.#options;
    const mapKey = nameKey(name);
    const get = async () => await getObject<ConfigMapObject>(api, configMapType, name, { timeoutMs: requestTimeoutMs });
    const read = await this.#gate.run(name.namespace, get, { goesFirst: goesFirst?.(name.namespace) === true });
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

  #textOf(
    name: ObjectName,
    key: string,
    content: ConfigMapContent | undefined,
    problem: string | undefined,
  ): AddressText {
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
      isLate: false,
      texts: new Map(),
    };
    this.#known.set(key, fresh);
    return fresh;
  }
}

function stillRead(name: ObjectName, key: string): AddressText {
  return { state: "Missing", source: sourceOf(name, key), problem: `ConfigMap ${nameKey(name)} is still being read.` };
}

/** Whether the cached data includes the key. */
function isKept({ content }: Reading, key: string | undefined): boolean {
  return key === undefined || content === undefined || content.wanted.has(key);
}

function sourceOf(name: ObjectName, key: string): string {
  return `ConfigMap ${nameKey(name)}, key ${key}`;
}
