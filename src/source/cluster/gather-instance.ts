// Puts together what belongs to one instance, from its objects however they were read. Objects that cannot be understood
// are left out and named, so that nothing is removed that they may want.
import type { DeclaredCacheClear, DeclaredInstance, DeclaredOrigin, DeclaredRule } from "../../model/declared.ts";
import { nameKey, type ResourceKind } from "../../model/resource.ts";
import type { ClusterObject } from "./cluster-object.ts";
import { type DeclaredByKind, parseObject } from "./parse-object.ts";

/** The objects of one instance. */
export interface InstancePicture {
  readonly instance: DeclaredInstance;
  readonly rules: readonly ClusterObject[];
  readonly origins: readonly ClusterObject[];
  readonly cacheClears: readonly ClusterObject[];
  /** Rules and origins that refer to an instance that cannot be read. */
  readonly unreadable: readonly ClusterObject[];
}

export interface DeclaredPicture {
  readonly rules: readonly DeclaredRule[];
  readonly origins: readonly DeclaredOrigin[];
  readonly cacheClears: readonly DeclaredCacheClear[];
  /** One sentence for each rule or origin that could not be understood. */
  readonly broken: readonly string[];
}

export function declaredPicture({ rules, origins, cacheClears, unreadable }: InstancePicture): DeclaredPicture {
  const broken: string[] = [];
  const parsedRules = parseAll("WafIpRule", rules, broken);
  const parsedOrigins = parseAll("WafOrigin", origins, broken);
  // A cache clear wants no entry: whether it is understood is its own affair.
  const parsedClears = parseAll("WafCacheClear", cacheClears, []);
  for (const object of unreadable) broken.push(`${describe(object)} names no instance that can be read.`);
  return { rules: parsedRules, origins: parsedOrigins, cacheClears: parsedClears, broken };
}

function parseAll<Kind extends ResourceKind>(
  kind: Kind,
  objects: readonly ClusterObject[],
  broken: string[],
): DeclaredByKind[Kind][] {
  return objects.flatMap((object) => {
    const parsed = parseObject(kind, object);
    if (parsed.ok) return [parsed.declared];
    broken.push(`${describe(object)} cannot be understood: ${parsed.problem}`);
    return [];
  });
}

function describe({ kind = "object", metadata: { namespace = "", name } }: ClusterObject): string {
  return `${kind} ${nameKey({ namespace, name })}`;
}
