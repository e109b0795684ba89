// Assembles what belongs to one instance, from objects out of the stores or from fresh reads. Invalid objects are left out
// and named in the result, so that no entry is removed that they might declare.
import type { DeclaredCacheClear, DeclaredInstance, DeclaredOrigin, DeclaredRule } from "../../model/declared.ts";
import type { Gathered } from "../../model/gathered.ts";
import { nameKey, type ResourceKind } from "../../model/resource.ts";
import type { ClusterObject } from "./cluster-object.ts";
import type { References } from "./instance-references.ts";
import { type DeclaredByKind, parseObject } from "./parse-object.ts";

/** The objects of one instance. */
export interface InstanceObjects {
  readonly instance: DeclaredInstance;
  readonly rules: readonly ClusterObject[];
  readonly origins: readonly ClusterObject[];
  readonly cacheClears: readonly ClusterObject[];
  /** Rules and origins whose `spec.instanceRef` cannot be read. */
  readonly unreadable: readonly ClusterObject[];
}

/** What the objects of one instance declare. */
export interface DeclaredObjects {
  readonly rules: readonly DeclaredRule[];
  readonly origins: readonly DeclaredOrigin[];
  readonly cacheClears: readonly DeclaredCacheClear[];
  /** One sentence for each invalid rule or origin. */
  readonly broken: readonly string[];
}

export function parseObjects({ rules, origins, cacheClears, unreadable }: InstanceObjects): DeclaredObjects {
  const broken: string[] = [];
  const parsedRules = parseAll("WafIpRule", rules, broken);
  const parsedOrigins = parseAll("WafOrigin", origins, broken);
  // An invalid cache clear is not reported here, because it declares no entry.
  const parsedClears = parseAll("WafCacheClear", cacheClears, []);
  for (const object of unreadable) broken.push(`${describe(object)} names no instance that can be read.`);
  return { rules: parsedRules, origins: parsedOrigins, cacheClears: parsedClears, broken };
}

/** The namespaces of everything that is attached to the instance. */
export function namespacesOf({ rules, origins, cacheClears }: DeclaredObjects): Set<string> {
  return new Set([...rules, ...origins, ...cacheClears].map(({ meta }) => meta.namespace));
}

/** @param gaps Why objects may be missing although nobody deleted them, one sentence each. */
export function assembleGathered(
  instance: DeclaredInstance,
  { origins, cacheClears, broken }: DeclaredObjects,
  { key, rules, sameKey, problems }: References,
  {
    gaps,
    ...rest
  }: Required<Pick<Gathered, "namespaceLabels" | "workloads" | "brokenReferences">> & {
    readonly gaps: readonly string[];
  },
): Gathered {
  const brokenSources = [...gaps, ...broken, ...problems];
  return { instance, key, rules, origins, cacheClears, brokenSources, sameKey, ...rest };
}

function parseAll<Kind extends ResourceKind>(
  kind: Kind,
  objects: readonly ClusterObject[],
  broken: string[],
): DeclaredByKind[Kind][] {
  return objects.flatMap((object) => {
    const parsed = parseObject(kind, object);
    if (parsed.ok) return [parsed.declared];
    broken.push(`${describe(object)} is invalid: ${parsed.problem}`);
    return [];
  });
}

function describe({ kind = "object", metadata: { namespace = "", name } }: ClusterObject): string {
  return `${kind} ${nameKey({ namespace, name })}`;
}
