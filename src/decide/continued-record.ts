// A renamed or moved instance takes over the record of the former one, so that everything stays managed without a WAF API
// call. Both must refer to the same WAF. A user who can create instances in their own namespace must not obtain the record of
// another team, so the domain is not sufficient: the API key or the base URL must also match the record. If the API at the same
// base URL returns the same domain, it has verified the key.
import type { ApiKey } from "../model/api-key.ts";
import { type DeclaredInstance, eachList } from "../model/declared.ts";
import type { HandledTrigger, Inventory, Managed } from "../model/inventory.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";

/** Whether a record belongs to the WAF that `instance` reaches with `key` and that reports `domain`. */
export function isAboutSameWaf(
  { domain: recorded, waf }: Inventory,
  { baseUrl }: DeclaredInstance,
  { domain, key }: { readonly domain: string; readonly key: ApiKey },
): boolean {
  if (recorded === undefined || recorded.toLowerCase() !== domain.toLowerCase()) return false;
  return waf?.baseUrl === baseUrl || waf?.keyMark === key.markFor(recorded);
}

/** Merges both records, always with the same result, however often. `own` takes precedence. */
export function joinRecords(own: Inventory, former: Inventory, formerName: ObjectName, ownName: ObjectName): Inventory {
  const triggers = new Set(own.handledTriggers.map(({ cacheClear }) => cacheClear));
  const handledTriggers = former.handledTriggers
    .map((handled) => movedWith(handled, formerName, ownName))
    .filter(({ cacheClear }) => !triggers.has(cacheClear));
  const otherDomains = new Map(former.otherDomains);
  for (const [domain, others] of own.otherDomains) {
    otherDomains.set(domain, joinManaged(others, otherDomains.get(domain) ?? others));
  }
  return {
    ...own,
    ...joinManaged(own, former),
    continued: nameKey(formerName),
    otherDomains,
    disputes: own.disputes.length > 0 ? own.disputes : former.disputes,
    handledTriggers: [...own.handledTriggers, ...handledTriggers],
    // A hash that was used for either instance must not work again.
    approvals: Math.max(own.approvals, former.approvals),
    allowed: eachList((list) => ({
      pending: former.allowed[list].pending.union(own.allowed[list].pending),
      count: Math.max(former.allowed[list].count, own.allowed[list].count),
      sinceMs: Math.max(former.allowed[list].sinceMs, own.allowed[list].sinceMs),
    })),
  };
}

/** A cache clear next to the former instance moves with it, and is not repeated. */
function movedWith(handled: HandledTrigger, former: ObjectName, own: ObjectName): HandledTrigger {
  const home = `${former.namespace}/`;
  if (!handled.cacheClear.startsWith(home)) return handled;
  return { ...handled, cacheClear: `${own.namespace}/${handled.cacheClear.slice(home.length)}` };
}

function joinManaged(own: Managed, former: Managed): Managed {
  return {
    entries: eachList((list) => new Map([...former.entries[list], ...own.entries[list]])),
    origins: new Map([...former.origins, ...own.origins]),
  };
}
