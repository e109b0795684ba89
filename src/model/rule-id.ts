// Identifies objects that declare entries: `namespace/name` for a WafIpRule, and `WafAutoBlock namespace/name` for a WafAutoBlock.
import type { EntryOwner } from "./entry-owners.ts";
import { type ResourceMeta, nameKey } from "./resource.ts";

const autoBlock = "WafAutoBlock";
const autoBlockPrefix = `${autoBlock} `;

export function ruleIdOf(meta: Pick<ResourceMeta, "kind" | "namespace" | "name">): string {
  return meta.kind === autoBlock ? `${autoBlockPrefix}${nameKey(meta)}` : nameKey(meta);
}

/** With its kind, for messages. */
export function ruleLabel(id: string): string {
  return id.startsWith(autoBlockPrefix) ? id : `WafIpRule ${id}`;
}

export function ownerOfRule(id: string, source: string | undefined): EntryOwner {
  return id.startsWith(autoBlockPrefix)
    ? { kind: autoBlock, name: id.slice(autoBlockPrefix.length), source }
    : { kind: "WafIpRule", name: id, source };
}

/** Undefined for the owner of an origin. */
export function ruleIdOfOwner({ kind, name }: Pick<EntryOwner, "kind" | "name">): string | undefined {
  if (kind === "WafOrigin") return undefined;
  return kind === autoBlock ? `${autoBlockPrefix}${name}` : name;
}

export function namespaceOfRule(id: string): string {
  const name = id.startsWith(autoBlockPrefix) ? id.slice(autoBlockPrefix.length) : id;
  return name.slice(0, name.indexOf("/"));
}

/** The rules that a record names as retaining an entry, separated by commas, which are not part of any name. */
export function splitRetainers(retainedBy: string | undefined): readonly string[] {
  return retainedBy?.split(",") ?? [];
}
