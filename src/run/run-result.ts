// How a reconcile run over one instance can end.
import type { WafFault } from "../model/waf-result.ts";

/** Why nothing can be done until something outside the run changes. */
export type Blocker =
  | "BaseUrlNotAllowed"
  | "MissingApiKey"
  | "DuplicateKey"
  /** Another instance continues this one. */
  | "Continued"
  /** The record of the instance that this one continues can't be taken over. */
  | "NotContinued"
  | "InventoryUnreadable"
  | "InventoryConflict"
  | "InventoryUnwritable"
  /** Nothing is written until this process has confirmed the declared state with a fresh read. */
  | "Unconfirmed"
  | "DomainChanged";

export type RunResult =
  | { readonly kind: "Done" }
  /** All rounds were used, and the WAF still differs from the declared state: another writer is active. */
  | { readonly kind: "Unsettled" }
  /** The instance now has another WAF or key, or is being deleted: a new run starts immediately. */
  | { readonly kind: "Outdated" }
  /** Its time slice is over and others are waiting: it continues after them. */
  | { readonly kind: "Yielded" }
  | { readonly kind: "Failed"; readonly fault: WafFault }
  | { readonly kind: "Blocked"; readonly blocker: Blocker; readonly message: string }
  | { readonly kind: "Interrupted" }
  | { readonly kind: "Gone" };

/** True if another attempt can succeed without a change. The instance backs off until then. */
export function isTransient(result: RunResult): boolean {
  if (result.kind === "Failed" || result.kind === "Unsettled") return true;
  if (result.kind !== "Blocked") return false;
  return (
    result.blocker === "Continued" ||
    result.blocker === "InventoryConflict" ||
    result.blocker === "InventoryUnwritable" ||
    result.blocker === "Unconfirmed"
  );
}

/** True if the run was interrupted: another run follows, or nothing is left, so it has nothing to report. */
export function isCutOff({ kind }: RunResult): boolean {
  return kind === "Interrupted" || kind === "Outdated" || kind === "Yielded" || kind === "Gone";
}

/** The result of a read that failed: an aborted call means that the process is stopping. */
export function resultOfFault(fault: WafFault): RunResult {
  return fault.code === "Aborted" ? { kind: "Interrupted" } : { kind: "Failed", fault };
}

export function blocked(blocker: Blocker, message: string): RunResult {
  return { kind: "Blocked", blocker, message };
}
