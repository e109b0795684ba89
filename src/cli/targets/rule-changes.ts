// A change of rules by a command, its result, and how far the reported status of rules and instances shows it.
import type { Condition } from "../../api/conditions.ts";
import { findCondition } from "../../api/conditions.ts";
import type { HeldGroup } from "../../api/waf-instance.ts";
import type { DeclaredRule, ListName } from "../../model/declared.ts";
import { listOf } from "../../model/declared.ts";
import type { Entry } from "../../address/entry.ts";
import type { ObjectName } from "../../model/resource.ts";
import type { CommandRule } from "../command-rule.ts";
import { entriesOf } from "../command-rule.ts";

export interface OnHold {
  /** The hash that approves all removals on hold; undefined if there are none, or if they can't be approved. */
  readonly hash: string | undefined;
  readonly groups: readonly HeldGroup[];
}

export interface RuleChanges {
  readonly instance: ObjectName;
  readonly put: readonly CommandRule[];
  /** Rules that an earlier command wrote. */
  readonly remove: readonly DeclaredRule[];
  /** The previous versions of rules in `put` that must lose entries. */
  readonly narrowed?: readonly DeclaredRule[];
  /** Entries of removed rules that stay on their list, because of other rules or another writer. */
  readonly staying: readonly { readonly list: string; readonly entry: string }[];
}

export interface WaitOptions {
  readonly timeoutMs: number;
  readonly stop: AbortSignal;
  /** Called whenever the reason for a delay changes. */
  readonly onMessage: (message: string) => void;
}

/** The entries that must be on a list afterwards, or must not be. */
export interface ExpectedEntry {
  readonly list: ListName;
  readonly entry: Entry;
  readonly isListed: boolean;
}

/**
 * `Settled`: the WAF shows the change. `Left`: the process that applies the change exited before that, or reports that it can't.
 * `TimedOut`: the change may still take effect. `NotWaited`: the result was not checked.
 */
export interface ChangeOutcome {
  readonly state: "Settled" | "Left" | "TimedOut" | "Stopped" | "NotWaited";
  /** Why the change is not settled; empty if it is. */
  readonly message: string;
  /** Whether a running process will expire the rules on time. */
  readonly isFollowed: boolean;
}

export function expectedEntries({ put, remove, narrowed = [], staying }: RuleChanges): readonly ExpectedEntry[] {
  const wanted = put.flatMap((rule) =>
    rule.addresses.map((entry) => ({ list: listOf(rule), entry, isListed: true }) satisfies ExpectedEntry),
  );
  const kept = new Set([...wanted, ...staying].map(({ list, entry }) => `${list} ${entry}`));
  const gone = [...remove, ...narrowed].flatMap((rule) =>
    entriesOf(rule).map((entry) => ({ list: listOf(rule), entry, isListed: false }) satisfies ExpectedEntry),
  );
  return [...wanted, ...gone.filter(({ list, entry }) => !kept.has(`${list} ${entry}`))];
}

/** The items for which `act` succeeds: for work that is welcome, but never a reason to fail. */
export async function keptOnSuccess<Item>(
  items: readonly Item[],
  act: (item: Item) => Promise<void>,
): Promise<readonly Item[]> {
  const done: Item[] = [];
  for (const item of items) {
    await act(item).then(
      () => done.push(item),
      () => undefined,
    );
  }
  return done;
}

export interface Reported {
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
  readonly entries?: { readonly desired?: number; readonly foreign?: number };
}

export interface Progress {
  readonly state: "Settled" | "Left" | "Open";
  /** Why it is not settled. */
  readonly message: string;
}

/** Whether the status reports ongoing work on the object. */
export function isReconciling(status: unknown): boolean {
  return findCondition(((status ?? {}) as Reported).conditions ?? [], "Reconciling")?.status === "True";
}

/** Whether the entries of a rule are on its list. */
export function isReportedSynced(status: unknown): boolean {
  const synced = findCondition(((status ?? {}) as Reported).conditions ?? [], "Synced");
  return synced?.status === "True" && synced.reason === "Synced";
}

/** The progress of a rule, as reported for this generation or a later one. */
export function progressOf(status: Reported | undefined, generation: number): Progress {
  const { conditions = [], observedGeneration = -1 } = status ?? {};
  if (observedGeneration < generation)
    return { state: "Open", message: "No reconcile run has processed the rule yet." };
  const accepted = findCondition(conditions, "Accepted");
  if (accepted?.status === "False") return { state: "Left", message: accepted.message };
  const synced = findCondition(conditions, "Synced");
  if (synced?.status === "True") return { state: "Settled", message: "" };
  const message = synced?.message ?? "No reconcile run has reported on the rule yet.";
  const isStuck = findCondition(conditions, "Stalled")?.status === "True";
  return { state: isStuck ? "Left" : "Open", message };
}

export function onHoldIn(status: unknown): OnHold {
  const { heldPlan, removalsOnHold = [] } = (status ?? {}) as {
    readonly heldPlan?: string;
    readonly removalsOnHold?: readonly HeldGroup[];
  };
  return { hash: heldPlan === "" ? undefined : heldPlan, groups: removalsOnHold };
}
