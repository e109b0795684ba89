// How a reconcile run over one instance can end.
import type { WafFault } from "../model/waf-result.ts";

/** Why nothing can be done until something changes outside. */
export type Blocker =
  | "BaseUrlNotAllowed"
  | "MissingApiKey"
  | "DuplicateKey"
  | "InventoryUnreadable"
  | "InventoryConflict"
  | "InventoryUnwritable"
  | "DomainChanged";

export type RunResult =
  | { readonly kind: "Done" }
  /** Everything was tried, and the WAF still shows something else: another writer is active. */
  | { readonly kind: "Unsettled" }
  /** The instance now names another WAF or key, or is being deleted: a new run starts at once. */
  | { readonly kind: "Outdated" }
  | { readonly kind: "Failed"; readonly fault: WafFault }
  | { readonly kind: "Blocked"; readonly blocker: Blocker; readonly message: string }
  | { readonly kind: "Interrupted" }
  | { readonly kind: "Gone" };

/** The result of a read that failed: an aborted call means that the process is stopping. */
export function resultOfFault(fault: WafFault): RunResult {
  return fault.code === "Aborted" ? { kind: "Interrupted" } : { kind: "Failed", fault };
}
