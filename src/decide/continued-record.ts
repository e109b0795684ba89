// A renamed or moved instance takes over the record of the former one, so that everything stays managed without a WAF API
// call. Both must refer to the same WAF. A user who can create instances in their own namespace must not obtain the record of
// another team, so the domain is not sufficient: the API key or the base URL must also match the record. If the API at the same
// base URL returns the same domain, it has verified the key.
import type { ApiKey } from "../model/api-key.ts";
import { type DeclaredInstance, listNames } from "../model/declared.ts";
import type { AllowedRemovals, HandledTrigger, Inventory, Managed } from "../model/inventory.ts";
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

/** Merges `own` and `former`. `own` takes precedence; the same object if `former` adds nothing. */
export function joinRecords(own: Inventory, former: Inventory, formerName: ObjectName, ownName: ObjectName): Inventory {
  const continued = nameKey(formerName);
  const managed = joinManaged(own, former);
  const triggers = new Set(own.handledTriggers.map(({ cacheClear }) => cacheClear));
  const handledTriggers = former.handledTriggers
    .map((handled) => movedWith(handled, formerName, ownName))
    .filter(({ cacheClear }) => !triggers.has(cacheClear));
  const otherDomains = new Map(former.otherDomains);
  for (const [domain, others] of own.otherDomains) {
    otherDomains.set(domain, joinManaged(others, otherDomains.get(domain) ?? others));
  }
  const isComplete =
    managed === own &&
    own.continued === continued &&
    handledTriggers.length === 0 &&
    otherDomains.size === own.otherDomains.size;
  if (isComplete) return own;
  return {
    ...own,
    entries: managed.entries,
    origins: managed.origins,
    continued,
    otherDomains,
    disputes: own.disputes.length > 0 ? own.disputes : former.disputes,
    handledTriggers: [...own.handledTriggers, ...handledTriggers],
    // A hash that was used for either instance must not work again.
    approvals: own.approvals + former.approvals,
    allowed: {
      blocklist: joinAllowed(former.allowed.blocklist, own.allowed.blocklist),
      allowlist: joinAllowed(former.allowed.allowlist, own.allowed.allowlist),
    },
  };
}

function joinAllowed(former: AllowedRemovals, own: AllowedRemovals): AllowedRemovals {
  return {
    pending: new Set([...former.pending, ...own.pending]),
    count: former.count + own.count,
    sinceMs: Math.max(former.sinceMs, own.sinceMs),
  };
}

/** A cache clear next to the former instance moves with it, and is not repeated. */
function movedWith(handled: HandledTrigger, former: ObjectName, own: ObjectName): HandledTrigger {
  const home = `${former.namespace}/`;
  if (!handled.cacheClear.startsWith(home)) return handled;
  return { ...handled, cacheClear: `${own.namespace}/${handled.cacheClear.slice(home.length)}` };
}

function joinManaged<Part extends Managed>(own: Part, former: Managed): Part | Managed {
  const isKnown =
    listNames.every((list) => [...former.entries[list].keys()].every((entry) => own.entries[list].has(entry))) &&
    [...former.origins.keys()].every((host) => own.origins.has(host));
  if (isKnown) return own;
  return {
    entries: {
      blocklist: new Map([...former.entries.blocklist, ...own.entries.blocklist]),
      allowlist: new Map([...former.entries.allowlist, ...own.entries.allowlist]),
    },
    origins: new Map([...former.origins, ...own.origins]),
  };
}
