// Determines which WAF the key belongs to. wafsync writes only to the WAF of the first sync, unless the user sets
// `expectedDomain` to a different one: if the keys of staging and production are swapped, the lists must not move. Each domain
// has a separate record. A WAF whose domain changed keeps its record: it is recognized by its API key.
import type { ApiKey } from "../model/api-key.ts";
import type { DeclaredInstance } from "../model/declared.ts";
import { countManaged, emptyInventory, type Inventory, type Managed } from "../model/inventory.ts";
import { counted } from "../model/texts.ts";
import type { Gathered } from "../model/gathered.ts";
import { continuedBy } from "../model/continues.ts";
import { byAge, nameKey } from "../model/resource.ts";

/** The maximum number of other domains in the record. */
export const otherDomainsMax = 20;

export type DomainDecision =
  /** `inventory` is the record for this domain; `told` describes what happened to the former record. */
  | { readonly state: "Known"; readonly inventory: Inventory; readonly told: string | undefined }
  | { readonly state: "Changed"; readonly message: string };

/** @param domain the domain that the API reports for `key` */
export function decideDomain(
  instance: DeclaredInstance,
  inventory: Inventory,
  domain: string,
  key: ApiKey,
): DomainDecision {
  const expected = instance.expectedDomain;
  if (expected !== undefined && !sameDomain(expected, domain)) {
    return {
      state: "Changed",
      message: `The API key belongs to ${domain}, but spec.expectedDomain is ${expected}: put the key of ${expected} into the Secret, or set spec.expectedDomain: ${domain}. wafsync writes nothing until then.`,
    };
  }
  const former = inventory.domain;
  if (former === undefined || sameDomain(former, domain)) {
    return { state: "Known", inventory: identified(inventory, former ?? domain, instance, key), told: undefined };
  }
  if (expected === undefined) {
    return {
      state: "Changed",
      message: `The API key used to belong to ${former} and now belongs to ${domain}: restore the former key, or set spec.expectedDomain: ${domain} to continue with the new WAF. wafsync writes nothing until then.`,
    };
  }
  if (inventory.waf?.keyMark === key.markFor(former)) {
    const told = `The domain of the WAF changed from ${former} to ${domain}, and the API key is the same: wafsync continues to manage its ${described(inventory)}.`;
    return { state: "Known", inventory: identified(inventory, domain, instance, key), told };
  }
  return switchDomain(inventory, former, domain, (next) => identified(next, domain, instance, key));
}

/** The WAF is a different one: entries on the former WAF stay recorded under its domain. */
function switchDomain(
  inventory: Inventory,
  former: string,
  domain: string,
  identify: (next: Inventory) => Inventory,
): DomainDecision {
  const others = new Map(inventory.otherDomains);
  const found: Managed = others.get(domain.toLowerCase()) ?? emptyInventory;
  others.delete(domain.toLowerCase());
  if (countManaged(inventory) > 0) {
    others.set(former.toLowerCase(), { entries: inventory.entries, origins: inventory.origins });
  }
  if (others.size > otherDomainsMax) {
    const message = `The record of this instance already contains the entries of ${otherDomainsMax} other domains: declare another WafInstance for ${domain}. wafsync writes nothing until then.`;
    return { state: "Changed", message };
  }
  const { handledTriggers, approvals, allowed, continued } = inventory;
  const { entries, origins } = found;
  const next = { ...emptyInventory, handledTriggers, approvals, allowed, continued, entries, origins };
  const told = `The instance now manages the WAF of ${domain}, with a record of ${described(found)}. The ${described(inventory)} on the WAF of ${former} stay there, and wafsync keeps their record in case the instance returns to ${former}.`;
  return { state: "Known", inventory: identify({ ...next, otherDomains: others }), told };
}

/** The same object if nothing changes. */
function identified(inventory: Inventory, domain: string, { baseUrl }: DeclaredInstance, key: ApiKey): Inventory {
  const keyMark = key.markFor(domain);
  const { waf } = inventory;
  const isSame = inventory.domain === domain && waf?.keyMark === keyMark && waf.baseUrl === baseUrl;
  return isSame ? inventory : { ...inventory, domain, waf: { baseUrl, keyMark } };
}

function described(managed: Managed): string {
  return counted(countManaged(managed), "managed entry or origin", "managed entries and origins");
}

function sameDomain(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

// Decides whether wafsync may call the WAF of an instance at all, for every kind of work, and identifies the inputs of an attempt:
// a failed attempt is repeated early if they change.

export type Admission =
  | { readonly kind: "Admitted"; readonly key: ApiKey }
  | {
      readonly kind: "Blocked";
      readonly blocker: "BaseUrlNotAllowed" | "MissingApiKey" | "DuplicateKey" | "Continued";
      readonly message: string;
    };

/** @param baseUrlObjection a sentence that says why the base URL must not be called; undefined if it may be called */
export function admitInstance(
  { instance, key, sameKey }: Gathered,
  baseUrlObjection: (baseUrl: string) => string | undefined,
): Admission {
  const objection = baseUrlObjection(instance.baseUrl);
  if (objection !== undefined) return { kind: "Blocked", blocker: "BaseUrlNotAllowed", message: objection };
  if (key.state === "Missing") return { kind: "Blocked", blocker: "MissingApiKey", message: key.problem };
  const successor = continuedBy(instance.meta, sameKey);
  if (successor !== undefined) {
    const message = `WafInstance ${nameKey(successor)} continues this one: change the rules and origins to refer to ${nameKey(successor)}, and delete this instance. This removes nothing from the WAF.`;
    return { kind: "Blocked", blocker: "Continued", message };
  }
  const others = sameKey.filter((peer) => continuedBy(peer, [instance.meta]) === undefined);
  const oldest = [instance.meta, ...others].toSorted(byAge)[0];
  if (oldest !== undefined && oldest !== instance.meta) {
    const message = `WafInstance ${nameKey(oldest)} is older and has the same API key: delete one of the two instances, or give this one the API key of a different WAF.`;
    return { kind: "Blocked", blocker: "DuplicateKey", message };
  }
  return { kind: "Admitted", key: key.key };
}

/**
 * Identifies everything that an attempt depends on besides the WAF itself: if it changes, a new attempt starts immediately.
 * @param requestedAt the value of the annotation that requests a reconcile
 * @param spec the other parts of the instance that count
 */
export function attemptOf({ instance, key, sameKey }: Gathered, requestedAt: string, spec: unknown): string {
  const { meta, baseUrl, expectedDomain = "" } = instance;
  const fingerprint = key.state === "Present" ? key.key.fingerprint() : "";
  return JSON.stringify([meta.uid, baseUrl, expectedDomain, requestedAt, fingerprint, sameKey.map(nameKey), spec]);
}
