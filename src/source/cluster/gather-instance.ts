// Assembles the objects of one instance from the stores or from fresh reads. Objects of namespaces without access are excluded.
// Invalid objects are excluded too, but listed in the result, so that their entries are not removed.
import type { DeclaredAutoBlock } from "../../model/auto-block.ts";
import type {
  DeclaredCacheClear,
  DeclaredInstance,
  DeclaredOrigin,
  DeclaredRule,
  GuestKind,
} from "../../model/declared.ts";
import type { Gathered } from "../../model/gathered.ts";
import { resourceKey } from "../../model/resource.ts";
import type { AttachedNamespaces } from "./attached-namespaces.ts";
import type { ClusterObject } from "./cluster-object.ts";
import type { References } from "./instance-references.ts";
import { type DeclaredByKind, metaOfObject, parseObject } from "./parse-object.ts";

type EntryKind = Exclude<GuestKind, "WafCacheClear">;

/** The objects of one instance. */
export interface InstanceObjects {
  readonly instance: DeclaredInstance;
  readonly rules: readonly ClusterObject[];
  readonly origins: readonly ClusterObject[];
  readonly cacheClears: readonly ClusterObject[];
  readonly autoBlocks: readonly ClusterObject[];
  /** Objects that declare entries, but whose `spec.instanceRef` cannot be read. */
  readonly unreadable: Readonly<Record<EntryKind, readonly ClusterObject[]>>;
}

/** What the objects of one instance declare. */
export interface DeclaredObjects {
  readonly rules: readonly DeclaredRule[];
  readonly origins: readonly DeclaredOrigin[];
  readonly cacheClears: readonly DeclaredCacheClear[];
  readonly autoBlocks: readonly DeclaredAutoBlock[];
  /** Why rules, origins and automatic blocks are invalid, by `resourceKey`. */
  readonly invalid: ReadonlyMap<string, string>;
}

/**
 * Parses the attached objects and caches the results, so that a following `parseObjects` is fast. Yields after each object, so
 * the caller can run other work in between.
 */
export function* parseAhead(
  { rules, origins }: Pick<InstanceObjects, "rules" | "origins">,
  attached: AttachedNamespaces,
): Generator<undefined> {
  for (const [kind, objects] of [["WafIpRule", rules] as const, ["WafOrigin", origins] as const]) {
    for (const object of attached.only(kind, objects)) {
      parseObject(kind, object);
      yield undefined;
    }
  }
}

export function parseObjects(
  { rules, origins, cacheClears, autoBlocks, unreadable }: Omit<InstanceObjects, "instance">,
  attached: AttachedNamespaces,
): DeclaredObjects {
  const invalid = new Map<string, string>();
  const parsed = {
    rules: parseAll("WafIpRule", rules, attached, invalid),
    origins: parseAll("WafOrigin", origins, attached, invalid),
    // An invalid cache clear is not reported here, because it declares no entry.
    cacheClears: parseAll("WafCacheClear", cacheClears, attached, new Map()),
    autoBlocks: parseAll("WafAutoBlock", autoBlocks, attached, invalid),
  };
  for (const kind of ["WafIpRule", "WafOrigin", "WafAutoBlock"] as const) {
    for (const object of attached.only(kind, unreadable[kind])) {
      const key = resourceKey(metaOfObject(kind, object));
      invalid.set(key, `${key} does not refer to a valid instance.`);
    }
  }
  return { ...parsed, invalid };
}

/** The namespaces of all objects that are attached to the instance. */
export function namespacesOf({
  rules,
  origins,
  cacheClears,
  autoBlocks,
}: Pick<DeclaredObjects, "rules" | "origins" | "cacheClears" | "autoBlocks">): Set<string> {
  return new Set([...rules, ...origins, ...cacheClears, ...autoBlocks].map(({ meta }) => meta.namespace));
}

/** @param gaps Why objects may be missing although they were not deleted, one sentence each. */
export function assembleGathered(
  instance: DeclaredInstance,
  { origins, cacheClears, autoBlocks, invalid }: DeclaredObjects,
  { key, rules, sameKey, problems }: References,
  {
    gaps,
    ...rest
  }: Required<Pick<Gathered, "namespaceLabels" | "workloads" | "brokenReferences">> & {
    readonly gaps: readonly string[];
  },
): Gathered {
  const invalidObjects = invalid.size === 0 ? {} : { invalidObjects: invalid };
  const brokenSources = [...gaps, ...problems];
  const blocks = autoBlocks.length === 0 ? {} : { autoBlocks };
  return { instance, key, rules, origins, cacheClears, brokenSources, sameKey, ...blocks, ...invalidObjects, ...rest };
}

function parseAll<Kind extends GuestKind>(
  kind: Kind,
  objects: readonly ClusterObject[],
  attached: AttachedNamespaces,
  invalid: Map<string, string>,
): DeclaredByKind[Kind][] {
  return attached.only(kind, objects).flatMap((object) => {
    const parsed = parseObject(kind, object);
    if (parsed.ok) return [parsed.declared];
    const key = resourceKey(metaOfObject(kind, object));
    invalid.set(key, `${key} is invalid: ${parsed.problem}`);
    return [];
  });
}
