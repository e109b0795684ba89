// A change of rules by a command, its result, and how far the reported status of rules and instances shows it.
import { type Condition, detailOf, findCondition } from "../../kinds/conditions.ts";
import type { HeldGroup } from "../../kinds/waf-instance.ts";
import type { DeclaredRule } from "../../model/declared.ts";
import type { Clock } from "../../async/clock.ts";
import type { ObjectName } from "../../model/resource.ts";
import type { CommandRule } from "../command-rule.ts";

export interface OnHold {
  /** What approves these removals; undefined if there are none, or if they can't be approved. */
  readonly hash: string | undefined;
  readonly groups: readonly HeldGroup[];
}

/** What a command does to one rule of a command: it adds the rule, narrows it, or removes it. */
export type RuleChange =
  | { readonly rule: CommandRule; readonly before?: DeclaredRule }
  | { readonly rule?: undefined; readonly before: DeclaredRule };

export interface RuleChanges {
  readonly instance: ObjectName;
  readonly rules: readonly RuleChange[];
}

export interface Waiting {
  readonly stop: AbortSignal;
  /** Aborted by `stop`, and when the time is over. */
  readonly ended: AbortSignal;
  /** Prints the reason for a delay, once. */
  readonly onMessage: (message: string) => void;
}

/**
 * `Settled`: the WAF shows the change. `Left`: the process that applies the change exited before that, or reports that it can't.
 * `TimedOut`: the change may still take effect. `NotWaited`: the result was not checked.
 */
export interface Settlement {
  readonly state: "Settled" | "Left" | "TimedOut" | "Stopped" | "NotWaited";
  /** Why the change is not settled; empty if it is. */
  readonly message: string;
}

export interface ChangeOutcome extends Settlement {
  /** Whether a running process will expire the rules on time. */
  readonly isFollowed: boolean;
}

const pollMs = 300;
/** The reason for a wait is printed only after this time, because most changes are done by then. */
const quietMs = 2_000;

/** Looks again and again until the state is no longer `Open`, or the wait has ended. */
export async function untilSettled<State extends string>(
  look: () => Promise<{ readonly state: State | "Open"; readonly message: string }>,
  { stop, ended, onMessage }: Waiting,
  clock: Pick<Clock, "monotonicMs" | "sleep">,
): Promise<{ readonly state: State | "Stopped" | "TimedOut"; readonly message: string }> {
  const loudMs = clock.monotonicMs() + quietMs;
  for (;;) {
    const { state, message } = await look();
    if (state !== "Open") return { state, message };
    if (ended.aborted) return { state: stop.aborted ? "Stopped" : "TimedOut", message };
    if (clock.monotonicMs() >= loudMs) onMessage(message);
    await clock.sleep(pollMs, ended);
  }
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
  if (accepted?.status === "False") return { state: "Left", message: detailOf(conditions, "Accepted") ?? "" };
  const synced = findCondition(conditions, "Synced");
  if (synced?.status === "True") return { state: "Settled", message: "" };
  const message = detailOf(conditions, "Synced") ?? "No reconcile run has reported on the rule yet.";
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
