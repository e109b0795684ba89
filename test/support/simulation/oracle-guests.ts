// The permitted actions of guests of a shared WAF, as in docs/guides/sharing.md, without code from src/decide.
import type { DeclaredInstance, ListName } from "../../../src/model/declared.ts";
import type { Entry } from "../../../src/address/entry.ts";
import type { GatheredRule } from "../../../src/model/gathered.ts";
import { isCoveredBy, isIpv6, lengthOf, sharesAddress } from "./oracle-networks.ts";

/** One rule declares one entry. */
export interface Claim {
  readonly entry: Entry;
  readonly list: ListName;
  readonly namespace: string;
  readonly isOwners: boolean;
}

/** The grants of an instance, which apply to all namespaces in a simulation. Check the oldest rules first, because they use the quota. */
export class Granted {
  readonly #instance: DeclaredInstance;
  readonly #used = new Map<string, Set<string>>();

  constructor(instance: DeclaredInstance) {
    this.#instance = instance;
  }

  admits({ rule: { meta, action } }: GatheredRule): boolean {
    if (meta.namespace === this.#instance.meta.namespace) return true;
    const grant = this.#instance.access[0];
    return grant !== undefined && grant.kinds.includes("WafIpRule") && grant.actions.includes(action);
  }

  /** The entries that count. @param merged networks whose width was judged before they were merged */
  of(
    { rule: { meta, action } }: GatheredRule,
    entries: readonly Entry[],
    merged: ReadonlySet<Entry>,
  ): readonly Entry[] {
    const grant = this.#instance.access[0];
    if (meta.namespace === this.#instance.meta.namespace || grant === undefined) return entries;
    const used = this.#used.get(meta.namespace) ?? new Set<string>();
    this.#used.set(meta.namespace, used);
    return entries.filter((entry) => {
      const key = `${action} ${entry}`;
      const { ipv4, ipv6 } = grant.minPrefixLength;
      const isTooWide = isIpv6(entry) ? lengthOf(entry, 128) < ipv6 : lengthOf(entry, 32) < ipv4;
      if ((isTooWide && !merged.has(entry)) || (!used.has(key) && used.size >= grant.maxEntries)) return false;
      used.add(key);
      return true;
    });
  }
}

/** Only the owner unblocks entries that another namespace declares. */
export function withoutLifted(claims: readonly Claim[], isAllowedAlready: (entry: Entry) => boolean): readonly Claim[] {
  return claims.filter((claim) => {
    if (claim.isOwners) return true;
    const others = claims.filter((other) => other.list !== claim.list && other.namespace !== claim.namespace);
    if (claim.list === "blocklist") {
      return !others.some(({ isOwners, entry }) => isOwners && isCoveredBy(claim.entry, [entry]));
    }
    const met = others.filter(({ entry }) => sharesAddress(entry, claim.entry));
    if (met.some(({ isOwners }) => isOwners)) return false;
    return met.length === 0 || isAllowedAlready(claim.entry);
  });
}
