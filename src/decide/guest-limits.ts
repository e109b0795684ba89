// Applies a grant to a guest's rule: sets limits, and rejects individual entries that exceed them. The owner has no grant, and no limits.
import {
  type DeclaredInstance,
  type DeclaredOrigin,
  type DeclaredRule,
  eachList,
  type Grant,
  type ListName,
} from "../model/declared.ts";
import { type Entry, networkOf } from "../address/entry.ts";
import { nameKey, type ResourceMeta } from "../model/resource.ts";
import { inThousands } from "../model/texts.ts";
import { adoptAnnotation, asksToAdopt } from "./ownership.ts";
import type { RejectedEntry } from "./compiled-rule.ts";

/** Whether the object is in the instance's own namespace. */
export function isOwnersOf(instance: DeclaredInstance, { meta }: { readonly meta: ResourceMeta }): boolean {
  return meta.namespace === instance.meta.namespace;
}

/**
 * The effective rule: with the granted priority and the required expiry, without an adoption that is not granted, and without
 * `Retain`. Otherwise, a guest could exceed its quota by retaining the entries of one rule after another.
 */
export function limitedRule(rule: DeclaredRule, grant: Grant | undefined): DeclaredRule {
  if (grant === undefined) return rule;
  const priority = Math.min(rule.priority, grant.maxPriority);
  const { maxTtlMs } = rule.yieldsTo === undefined ? grant : {};
  const ttlMs = maxTtlMs === undefined ? rule.ttlMs : Math.min(rule.ttlMs ?? maxTtlMs, maxTtlMs);
  return { ...rule, priority, ttlMs, deletionPolicy: "Delete", meta: withoutAdoption(rule.meta, grant) };
}

/** The effective origin. */
export function limitedOrigin(origin: DeclaredOrigin, grant: Grant | undefined): DeclaredOrigin {
  if (grant === undefined) return origin;
  return { ...origin, deletionPolicy: "Delete", meta: withoutAdoption(origin.meta, grant) };
}

function withoutAdoption(meta: ResourceMeta, grant: Grant): ResourceMeta {
  if (grant.adopt || !asksToAdopt(meta)) return meta;
  const { [adoptAnnotation]: _, ...annotations } = meta.annotations;
  return { ...meta, annotations };
}

/** A message about the missing grant that says what to do; undefined if there is none. */
export function ungrantedIn(
  instance: DeclaredInstance,
  rule: DeclaredRule,
  grant: Grant | undefined,
): string | undefined {
  if (grant === undefined) return undefined;
  const owner = `WafInstance ${nameKey(instance.meta)} does not grant`;
  const { namespace } = rule.meta;
  if (!grant.actions.includes(rule.action)) {
    return `${owner} the action ${rule.action} to namespace ${namespace}: ask its owner to add it to spec.access.`;
  }
  if (rule.yieldsTo !== undefined) return undefined;
  if (grant.maxTtlMs !== undefined && rule.meta.createdAtMs === undefined && rule.expiresAtMs === undefined) {
    return `${owner} namespace ${namespace} entries without an expiry: set spec.expiresAt.`;
  }
  return undefined;
}

/** The same for a missing grant that does not affect the rest of the object. */
export function ungrantedPart(
  instance: DeclaredInstance,
  object: Pick<DeclaredRule, "meta" | "deletionPolicy">,
  grant: Grant | undefined,
): string | undefined {
  if (grant === undefined) return undefined;
  const owner = `WafInstance ${nameKey(instance.meta)} does not grant`;
  const { namespace } = object.meta;
  if (object.deletionPolicy === "Retain") {
    return `${owner} deletionPolicy: Retain to namespace ${namespace}, so wafsync removes the entries of this object together with it: set deletionPolicy: Delete.`;
  }
  if (grant.adopt || !asksToAdopt(object.meta)) return undefined;
  return `${owner} adoption to namespace ${namespace}, so entries that another writer added stay unmanaged: remove the annotation ${adoptAnnotation}, or ask the owner to set adopt in spec.access.`;
}

/** The beginning of a sentence about an entry that is wider than the grant allows; undefined for other entries. */
export function tooWide(entry: Entry, grant: Grant | undefined): string | undefined {
  if (grant === undefined) return undefined;
  const { family, prefixLength } = networkOf(entry);
  const shortest = grant.minPrefixLength[family];
  if (prefixLength >= shortest) return undefined;
  return `${entry} is wider than /${shortest}, the limit that the instance grants to this namespace`;
}

/** Counts the entries of each guest namespace across all its rules, oldest rule first. */
export class EntryQuota {
  readonly #used = new Map<string, Readonly<Record<ListName, Set<Entry>>>>();

  /** Accepts the entries that still fit, in order, and returns the others as rejected. */
  take(
    namespace: string,
    list: ListName,
    entries: ReadonlySet<Entry>,
    grant: Grant | undefined,
    sourceOf: (entry: Entry) => string,
  ): { readonly entries: ReadonlySet<Entry>; readonly rejected: readonly RejectedEntry[] } {
    if (grant === undefined) return { entries, rejected: [] };
    const used = this.#used.get(namespace) ?? eachList(() => new Set<Entry>());
    this.#used.set(namespace, used);
    const rejected: RejectedEntry[] = [];
    const message = `The instance grants ${inThousands(grant.maxEntries)} entries to this namespace, across all its rules: remove other entries, or ask the owner to raise maxEntries in spec.access.`;
    for (const entry of entries) {
      if (!used[list].has(entry) && used.blocklist.size + used.allowlist.size >= grant.maxEntries) {
        rejected.push({ entry, source: sourceOf(entry), message });
      } else used[list].add(entry);
    }
    const left = new Set(rejected.map(({ entry }) => entry));
    return { entries: left.size === 0 ? entries : new Set(entries).difference(left), rejected };
  }
}
