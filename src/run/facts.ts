// What a reconcile run knows at one moment, as plain facts. Statuses, events and the output of commands are derived from them.
import type { Gathered } from "../model/gathered.ts";
import type { Inventory } from "../model/inventory.ts";
import type { Observed } from "../model/observed.ts";
import type { CompiledRule } from "../decide/compiled-rule.ts";
import type { DesiredState } from "../decide/desired.ts";
import type { DriftedEntry } from "../decide/disputes.ts";
import type { Plan } from "../decide/plan.ts";
import type { RuleProgress } from "../decide/progress.ts";
import type { WafFault } from "../model/waf-result.ts";

/** How many entries and origins the API added and removed in a run, and how many entries became managed without a call. */
export const nothingDone = { added: 0, removed: 0, adopted: 0 };
export type WritesDone = Readonly<typeof nothingDone>;

export interface RunFacts {
  readonly gathered: Gathered;
  readonly desired: DesiredState;
  /** Undefined until the run has ended. */
  readonly result: RunResult | undefined;
  /** Undefined until the WAF has been read. */
  readonly observed: Observed | undefined;
  /** The plan for the WAF as it is now. After calls, it is made again, and is not the one that the run continues with. */
  readonly plan: Plan | undefined;
  readonly progress: ReadonlyMap<CompiledRule, RuleProgress> | undefined;
  readonly inventory: Inventory | undefined;
  readonly done: WritesDone;
  /** The number of declared entries that were on the lists before there was a record. They count as foreign. */
  readonly unrecorded: number;
  /** Differences from the declared state that another writer caused before the run. */
  readonly drift: readonly DriftedEntry[];
  /** The remaining writes, and the rate of the former ones. */
  readonly pace: { readonly left: number; readonly perSecond: number } | undefined;
  /** Why the run is waiting at the moment. */
  readonly waiting: string | undefined;
  readonly nowMs: number;
}

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
  | "InventoryUnwritable"
  /** Nothing is written until this process has confirmed the declared state with a fresh read. */
  | "Unconfirmed"
  | "DomainChanged";

export type RunResult =
  | { readonly kind: "Done" }
  /** All rounds were used, and the WAF still differs from the declared state: another writer is active. */
  | { readonly kind: "Unsettled" }
  /**
   * The instance now has another WAF or key, is being deleted, or keeps getting newer declarations: a new run starts immediately.
   */
  | { readonly kind: "Outdated" }
  /** Its time slice is over and others are waiting: it continues after them. */
  | { readonly kind: "Yielded" }
  | { readonly kind: "Failed"; readonly fault: WafFault }
  | { readonly kind: "Blocked"; readonly blocker: Blocker; readonly message: string }
  | { readonly kind: "Interrupted" }
  | { readonly kind: "Gone" };

/** True if another attempt can succeed without a change. The instance backs off until then. */
export function isTransient(result: RunResult): boolean {
  if (result.kind === "Blocked") return passing.has(result.blocker);
  return result.kind === "Failed" || result.kind === "Unsettled";
}

const passing: ReadonlySet<Blocker> = new Set(["Continued", "InventoryUnwritable", "Unconfirmed"]);

/** True if the run was interrupted: another run follows, or nothing is left, so it has nothing to report. */
export function isCutOff({ kind }: RunResult): boolean {
  return kind === "Interrupted" || kind === "Outdated" || kind === "Yielded" || kind === "Gone";
}

/** The result of a call that failed: the process is stopping if it was aborted or is no longer permitted. */
export function resultOfFault(fault: WafFault): RunResult {
  return fault.code === "Aborted" || fault.code === "NotPermitted"
    ? { kind: "Interrupted" }
    : { kind: "Failed", fault };
}

export function blocked(blocker: Blocker, message: string): RunResult {
  return { kind: "Blocked", blocker, message };
}
