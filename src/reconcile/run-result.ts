// How a pass over one instance can end.
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
  | { readonly end: "Done" }
  /** All was tried, and the WAF still shows something else: somebody writes at the same time. */
  | { readonly end: "Unsettled" }
  /** The instance now names another WAF or key, or is to be deleted: it is begun anew at once. */
  | { readonly end: "Outdated" }
  | { readonly end: "Failed"; readonly fault: WafFault }
  | { readonly end: "Blocked"; readonly blocker: Blocker; readonly message: string }
  | { readonly end: "Interrupted" }
  | { readonly end: "Gone" };
