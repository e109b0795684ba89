// Which WAF does the key belong to? Nothing is written to another WAF than the one that the first sync saw, unless the
// user says its domain: a key that was swapped between staging and production must not move the lists along.
import type { DeclaredInstance } from "../../model/declared.ts";
import type { Inventory } from "../../model/inventory.ts";
import { emptyInventory } from "../../model/inventory.ts";

export type DomainDecision =
  | { readonly state: "Known"; readonly inventory: Inventory }
  | { readonly state: "Changed"; readonly message: string };

/** `Known` brings the inventory that counts for this domain: an empty one if `expectedDomain` says that the WAF is another. */
export function decideDomain(instance: DeclaredInstance, inventory: Inventory, domain: string): DomainDecision {
  const expected = instance.expectedDomain;
  if (expected !== undefined && !sameDomain(expected, domain)) {
    return {
      state: "Changed",
      message: `The API key belongs to ${domain}, but spec.expectedDomain is ${expected}: put the key of ${expected} into the Secret, or write expectedDomain: ${domain}. Nothing is written until then.`,
    };
  }
  if (inventory.domain === undefined) return { state: "Known", inventory: { ...inventory, domain } };
  if (sameDomain(inventory.domain, domain)) return { state: "Known", inventory };
  if (expected === undefined) {
    return {
      state: "Changed",
      message: `The API key used to belong to ${inventory.domain} and now belongs to ${domain}: put the former key back, or write spec.expectedDomain: ${domain} to go on with the new WAF. Nothing is written until then.`,
    };
  }
  const { handledTriggers, rollouts, approvals } = inventory;
  return { state: "Known", inventory: { ...emptyInventory, handledTriggers, rollouts, approvals, domain } };
}

function sameDomain(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}
