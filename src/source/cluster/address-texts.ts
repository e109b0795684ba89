// The contents of the ConfigMaps that rules take addresses from. Labelled ConfigMaps come from the watch; the others are
// read one at a time and cached for a while. The same text gives the same object, so that it is parsed only once. If a
// ConfigMap cannot be read again, its last text is kept and a problem is reported, which blocks removals meanwhile.
import type { Clock } from "../../async/clock.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import type { KubeObject } from "../../kube/kube-object.ts";
import { sameJson } from "../../kube/status-diff.ts";
import type { ObjectView } from "../../kube/store.ts";
import { getMetadata, getObject } from "../../kube/verbs.ts";
import type { DeclaredRule } from "../../model/declared.ts";
import type { AddressText } from "../../model/gathered.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";
import { type ConfigMapObject, configMapType, slimConfigMap } from "./cluster-object.ts";

const requestTimeoutMs = 10_000;
const namesShownMax = 5;

export interface ReadTexts {
  readonly texts: readonly AddressText[];
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

/** `object` is undefined if the ConfigMap does not exist. */
interface Reading {
  readonly object: ConfigMapObject | undefined;
  readonly problem?: string;
}

interface Known {
  reading: Reading | undefined;
  /** When the request for `reading` started. */
  readAtMs: number;
  underWay: { readonly startedMs: number; readonly reading: Promise<Reading> } | undefined;
  /** By data key. */
  readonly texts: Map<string, Extract<AddressText, { state: "Read" }>>;
}

export class AddressTexts {
  readonly #api: ApiServer;
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #watched: ObjectView<ConfigMapObject>;
  readonly #known = new Map<string, Known>();

  constructor(options: {
    readonly api: ApiServer;
    readonly clock: Pick<Clock, "monotonicMs">;
    /** The ConfigMaps with the watch label. */
    readonly watched: ObjectView<ConfigMapObject>;
  }) {
    this.#api = options.api;
    this.#clock = options.clock;
    this.#watched = options.watched;
  }

  /** One text for each of the rule's `addressesFrom`. Never rejects. */
  async read({ meta, addressesFrom }: DeclaredRule, freshness: Freshness): Promise<ReadTexts> {
    const problems = new Set<string>();
    const missing = new Map<string, ObjectName>();
    const texts = await Promise.all(
      addressesFrom.map(async ({ name, key }) => {
        const mapName = { namespace: meta.namespace, name };
        const { object, problem } = await this.#object(mapName, freshness);
        if (problem !== undefined) problems.add(problem);
        const text = this.#textOf(mapName, key, object, problem);
        if (text.state === "Missing" && !this.isWatched(mapName)) missing.set(nameKey(mapName), mapName);
        return text;
      }),
    );
    return { texts, problems: [...problems], missing: [...missing.values()] };
  }

  /**
   * True if the ConfigMap has other data than when it was last read. Reads its metadata, and the rest only if the version is
   * another one. False if it can't be read.
   */
  async hasChanged(name: ObjectName): Promise<boolean> {
    const before = this.#known.get(nameKey(name))?.reading?.object;
    const seen = await getMetadata(this.#api, configMapType, name, { timeoutMs: requestTimeoutMs });
    if (!seen.ok && seen.fault.code !== "NotFound") return false;
    if (versionOf(seen.ok ? seen.value : undefined) === versionOf(before)) return false;
    const { object, problem } = await this.#object(name, { notBeforeMs: this.#clock.monotonicMs(), bypassWatch: true });
    return problem === undefined && !(sameUid(object, before) && sameJson(object?.data, before?.data));
  }

  /** Whether a watch covers the ConfigMap. */
  isWatched(name: ObjectName): boolean {
    return this.#watched.get(nameKey(name)) !== undefined;
  }

  /** The next `read` asks the API server. */
  refresh(mapKey: string): void {
    const known = this.#known.get(mapKey);
    if (known !== undefined) known.readAtMs = Number.NEGATIVE_INFINITY;
  }

  /** Call this when no rule uses the ConfigMap any longer. */
  forget(mapKey: string): void {
    this.#known.delete(mapKey);
  }

  async #object(name: ObjectName, { notBeforeMs, bypassWatch }: Freshness): Promise<Reading> {
    const watched = this.#watched.get(nameKey(name));
    if (watched !== undefined && !bypassWatch) return { object: watched };
    const known = this.#knownOf(name);
    if (known.reading !== undefined && known.readAtMs >= notBeforeMs) return known.reading;
    if (known.underWay !== undefined && known.underWay.startedMs >= notBeforeMs) return await known.underWay.reading;
    const startedMs = this.#clock.monotonicMs();
    const reading = this.#readAnew(name, known, startedMs);
    const underWay = { startedMs, reading };
    known.underWay = underWay;
    const result = await reading;
    if (known.underWay === underWay) known.underWay = undefined;
    return result;
  }

  async #readAnew(name: ObjectName, known: Known, startedMs: number): Promise<Reading> {
    const former = known.reading?.object;
    const read = await getObject<ConfigMapObject>(this.#api, configMapType, name, { timeoutMs: requestTimeoutMs });
    if (!read.ok && read.fault.code !== "NotFound") {
      return { object: former, problem: `ConfigMap ${nameKey(name)} could not be read: ${read.fault.message}` };
    }
    const reading = { object: read.ok ? slimConfigMap(read.value) : undefined };
    if (known.reading === undefined || startedMs >= known.readAtMs) {
      known.reading = reading;
      known.readAtMs = startedMs;
    }
    return reading;
  }

  #textOf(
    name: ObjectName,
    key: string,
    object: ConfigMapObject | undefined,
    problem: string | undefined,
  ): AddressText {
    const source = `ConfigMap ${nameKey(name)}, key ${key}`;
    if (object === undefined) {
      const is = problem ?? `There is no ConfigMap ${nameKey(name)}: create it, or correct spec.addressesFrom.`;
      return { state: "Missing", source, problem: is };
    }
    const data = object.data ?? {};
    const text = Object.hasOwn(data, key) ? data[key] : undefined;
    if (text === undefined) return { state: "Missing", source, problem: lacksKey(name, key, Object.keys(data)) };
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
    const fresh: Known = { reading: undefined, readAtMs: 0, underWay: undefined, texts: new Map() };
    this.#known.set(key, fresh);
    return fresh;
  }
}

function versionOf(object: KubeObject | undefined): string {
  return object === undefined ? "" : `${object.metadata.uid} ${object.metadata.resourceVersion}`;
}

/** Also if there is none. */
function sameUid(left: KubeObject | undefined, right: KubeObject | undefined): boolean {
  return left?.metadata.uid === right?.metadata.uid;
}

function lacksKey(name: ObjectName, key: string, keys: readonly string[]): string {
  const names = keys.toSorted();
  const more = names.length > namesShownMax ? ` and ${names.length - namesShownMax} more` : "";
  const has = names.length === 0 ? "it has no data" : `it has ${names.slice(0, namesShownMax).join(", ")}${more}`;
  return `ConfigMap ${nameKey(name)} has no key ${key}: ${has}.`;
}
