// The declared state of a simulation with its complete history: a process sees it through a lagging watch, or with a fresh read.
// The same objects are used for a directory, where they have only a name as their identity, and no age.
import { ApiKey } from "../../../src/model/api-key.ts";
import type {
  DeclaredAutoBlock,
  DeclaredCacheClear,
  DeclaredInstance,
  DeclaredOrigin,
} from "../../../src/model/declared.ts";
import type { BrokenReferences, Gathered, GatheredRule, ObservedWorkload } from "../../../src/model/gathered.ts";
import { nameKey, type ObjectName, resourceKey, type ResourceMeta } from "../../../src/model/resource.ts";

/** The complete declared state at one moment, by `namespace/name`. */
export interface Declared {
  readonly instances: ReadonlyMap<string, DeclaredInstance>;
  readonly rules: ReadonlyMap<string, GatheredRule>;
  readonly origins: ReadonlyMap<string, DeclaredOrigin>;
  readonly clears: ReadonlyMap<string, DeclaredCacheClear>;
  readonly autoBlocks: ReadonlyMap<string, DeclaredAutoBlock>;
  /** What the workloads show, by name. */
  readonly workloads: ReadonlyMap<string, ObservedWorkload>;
  /** The content of the Secret that all instances use; undefined if the Secret does not exist. */
  readonly key: string | undefined;
  /** Why the state may be incomplete. */
  readonly broken: readonly string[];
}

/** The maximum delay until a process sees a change. */
export const watchLagMsMax = 20_000;

type Parts = "instances" | "rules" | "origins" | "clears" | "autoBlocks";
interface Named {
  readonly meta: ResourceMeta;
}

export class SimCluster {
  readonly isDirectory: boolean;
  readonly #nowMs: () => number;
  /** When each of them was declared. */
  readonly #sinceMs: number[] = [0];
  readonly #history: Declared[] = [
    {
      instances: new Map(),
      rules: new Map(),
      origins: new Map(),
      clears: new Map(),
      autoBlocks: new Map(),
      workloads: new Map(),
      key: undefined,
      broken: [],
    },
  ];
  readonly #gathered = new Map<string, Gathered | undefined>();
  /** Objects that exist, and the finalizer on instances. */
  readonly held = new Set<string>();
  /** All keys that the Secret has contained. */
  readonly keys = new Set<string>();
  onChange: () => void = () => undefined;

  constructor(isDirectory: boolean, nowMs: () => number) {
    this.isDirectory = isDirectory;
    this.#nowMs = nowMs;
  }

  get now(): Declared {
    return this.at(this.latest);
  }

  get latest(): number {
    return this.#history.length - 1;
  }

  at(index: number): Declared {
    const declared = this.#history[index];
    if (declared === undefined) throw new Error(`Nothing was declared at ${index}`);
    return declared;
  }

  /** The declared states of the instance since then, latest first. */
  declaredSince(sinceMs: number, instance: ObjectName): Gathered[] {
    const found: Gathered[] = [];
    for (let index = this.latest; index >= 0; index -= 1) {
      const gathered = this.gathered(index, instance);
      if (gathered !== undefined) found.push(gathered);
      // A state that was replaced in the same millisecond may still have been read.
      if ((this.#sinceMs[index] ?? 0) < sinceMs) break;
    }
    return found;
  }

  change(change: Partial<Declared>): void {
    this.#history.push({ ...this.now, ...change });
    this.#sinceMs.push(this.#nowMs());
    if (change.key !== undefined) this.keys.add(change.key);
    this.onChange();
  }

  put(part: Parts, object: Named | GatheredRule): void {
    const meta = "rule" in object ? object.rule.meta : object.meta;
    this.change({ [part]: new Map<string, unknown>(this.now[part]).set(nameKey(meta), object) });
  }

  /** An instance with a finalizer stays until it is released. */
  remove(part: Parts, name: string): void {
    const instance = part === "instances" ? this.now.instances.get(name) : undefined;
    if (instance !== undefined && this.held.has(name)) {
      this.put("instances", { ...instance, meta: { ...instance.meta, deleting: true } });
      return;
    }
    const left = new Map<string, unknown>(this.now[part]);
    left.delete(name);
    this.change({ [part]: left });
  }

  release(name: string): void {
    this.held.delete(name);
    if (this.now.instances.get(name)?.meta.deleting === true) this.remove("instances", name);
  }

  /** The current state of this object; undefined if it was deleted. */
  current(meta: ResourceMeta): ResourceMeta | undefined {
    const { instances, rules, origins, clears, autoBlocks } = this.now;
    const found: Partial<Record<ResourceMeta["kind"], ResourceMeta | undefined>> = {
      WafInstance: instances.get(nameKey(meta))?.meta,
      WafIpRule: rules.get(nameKey(meta))?.rule.meta,
      WafOrigin: origins.get(nameKey(meta))?.meta,
      WafCacheClear: clears.get(nameKey(meta))?.meta,
      WafAutoBlock: autoBlocks.get(nameKey(meta))?.meta,
    };
    return found[meta.kind]?.uid === meta.uid ? found[meta.kind] : undefined;
  }

  /** The last state of this WafAutoBlock, which may be deleted. */
  declaredBlock(name: string, uid: string): DeclaredAutoBlock | undefined {
    return this.#history.findLast(({ autoBlocks }) => autoBlocks.get(name)?.meta.uid === uid)?.autoBlocks.get(name);
  }

  gathered(index: number, instance: ObjectName): Gathered | undefined {
    const name = `${index} ${nameKey(instance)}`;
    if (!this.#gathered.has(name)) this.#gathered.set(name, gatherAt(this.at(index), instance, this.isDirectory));
    return this.#gathered.get(name);
  }
}

function brokenReferences({ instances, rules, origins }: Declared, isDirectory: boolean): BrokenReferences {
  const all = [...[...rules.values()].map(({ rule }) => rule), ...origins.values()];
  const broken = all.filter(({ instance }) => !instances.has(nameKey(instance)));
  return {
    objects: new Map(
      broken.map((declared) => [
        resourceKey(declared.meta),
        { declared, problem: `There is no WafInstance ${nameKey(declared.instance)}.` },
      ]),
    ),
    existing: isDirectory ? new Set(all.map(({ meta }) => resourceKey(meta))) : undefined,
  };
}

function gatherAt(declared: Declared, name: ObjectName, isDirectory: boolean): Gathered | undefined {
  const instance = declared.instances.get(nameKey(name));
  if (instance === undefined) return undefined;
  const isMine = (object: { readonly instance: ObjectName }): boolean => nameKey(object.instance) === nameKey(name);
  const { key } = declared;
  const others = [...declared.instances.values()].filter(
    (other) => nameKey(other.meta) !== nameKey(name) && other.baseUrl === instance.baseUrl,
  );
  return {
    instance,
    key:
      key === undefined
        ? { state: "Missing", problem: "Secret edge/shop-key does not exist: create it." }
        : { state: "Present", key: new ApiKey(key) },
    rules: [...declared.rules.values()].filter(({ rule }) => isMine(rule)),
    origins: [...declared.origins.values()].filter(isMine),
    cacheClears: [...declared.clears.values()].filter(isMine),
    ...(declared.autoBlocks.size > 0 ? { autoBlocks: [...declared.autoBlocks.values()].filter(isMine) } : {}),
    namespaceLabels: new Map(),
    brokenSources: declared.broken,
    brokenReferences: brokenReferences(declared, isDirectory),
    sameKey: key === undefined ? [] : others.map(({ meta }) => meta),
  };
}
