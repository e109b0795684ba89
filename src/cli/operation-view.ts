// The content of a plan as plain data: writes, adoptions, and all other differences from the declared state.
import { formatTime } from "../api/conditions.ts";
import type { DeclaredCacheClear } from "../model/declared.ts";
import { listNames } from "../model/declared.ts";
import { lastDeclaredBy } from "../model/entry-owners.ts";
import { nameKey } from "../model/resource.ts";
import { ruleLabel } from "../model/rule-id.ts";
import type { Adoption, Operation } from "../model/operation.ts";
import { asSentence } from "../model/sentence.ts";
import type { DriftedEntry } from "../plan/instance/drift.ts";
import type { UnmanagedEntry } from "../plan/instance/unmanaged.ts";
import { findUnmanaged } from "../plan/instance/unmanaged.ts";
import type { RunFacts } from "../reconcile/facts.ts";
import { adoptHint } from "../reconcile/status/origin-status.ts";

export interface OperationView {
  readonly operation: Operation["kind"] | "Adopt" | "ClearCache";
  readonly target: string;
  readonly value: string;
  readonly reason: string;
}

type Held = NonNullable<NonNullable<RunFacts["plan"]>["held"]>;

/** A difference from the declared state that this plan does not correct. */
export type DifferenceView = Omit<OperationView, "operation">;

/** In the order of execution: one cache clear for all pending ones, adoptions without a call, then the writes. */
export function viewOperations(facts: RunFacts, pendingClears: readonly DeclaredCacheClear[]): OperationView[] {
  const { plan, drift, gathered } = facts;
  const drifted = new Map(drift.map(({ list, entry, change }) => [`${list} ${entry}`, change]));
  const why = gathered.instance.suspend ? "the instance is suspended" : "the policy is Observe";
  const observedOnly = (plan?.observedOnly ?? []).map((operation) => viewOperation(operation, drifted));
  return [
    ...pendingClears.map(viewClear),
    ...(plan?.adoptions ?? []).map(viewAdoption),
    ...(plan?.operations ?? []).map((operation) => viewOperation(operation, drifted)),
    ...observedOnly.map((view) => ({ ...view, reason: `${view.reason}; not written, because ${why}` })),
  ];
}

type Drifted = ReadonlyMap<string, DriftedEntry["change"]>;

function viewOperation(operation: Operation, drifted: Drifted): OperationView {
  const { kind, reason } = operation;
  if (kind === "AddOrigin" || kind === "RemoveOrigin") {
    return { operation: kind, target: `${operation.type.toLowerCase()} origin`, value: operation.host, reason };
  }
  const change = drifted.get(`${operation.list} ${operation.entry}`);
  if (kind === "RemoveEntry") {
    const again = change === "Reappeared" ? "removed before and added again by another writer; " : "";
    return { operation: kind, target: operation.list, value: operation.spelling, reason: `${again}${reason}` };
  }
  return {
    operation: kind,
    target: operation.list,
    value: operation.entry,
    reason: change === "Vanished" ? driftReason(operation.rules) : reason,
  };
}

function driftReason(rules: readonly string[]): string {
  const also = rules.length < 2 ? "" : ` and ${rules.length - 1} more`;
  return `was removed by another writer and will be added again for ${ruleLabel(rules[0] ?? "")}${also}`;
}

function viewAdoption({ list, entry, rules }: Adoption): OperationView {
  const reason = `already on the list, adopted for ${rules.map(ruleLabel).join(", ")} without a call`;
  return { operation: "Adopt", target: list, value: entry, reason };
}

function viewClear({ meta, trigger }: DeclaredCacheClear): OperationView {
  const what = trigger === undefined ? "not handled yet" : `trigger ${trigger} is not handled yet`;
  return { operation: "ClearCache", target: "cache", value: nameKey(meta), reason: what };
}

/** Removals on hold, each with its reason. */
export function viewHeld({ plan }: RunFacts): OperationView[] {
  const views: OperationView[] = [];
  for (const list of ["blocklist", "allowlist"] as const) {
    for (const removal of plan?.held?.removals[list] ?? []) {
      views.push({ operation: "RemoveEntry", target: list, value: removal.entry, reason: whyOnHold(removal) });
    }
  }
  for (const removal of plan?.held?.origins ?? []) {
    views.push({ operation: "RemoveOrigin", target: "origin", value: removal.host, reason: whyOnHold(removal) });
  }
  return views;
}

function whyOnHold({ holds, owners }: Omit<Held["origins"][number], "host">): string {
  const why = holds[0]?.reason ?? "the guards of the instance allow fewer removals at once";
  return `${["on hold", lastDeclaredBy(owners)].filter((part) => part !== "").join(", ")}: ${asSentence(why)}`;
}

/** Writes that the API rejected, and that are not retried for now. */
export function viewRefused({ plan }: RunFacts): DifferenceView[] {
  if (plan === undefined) return [];
  const entries = [...plan.refusals].map(([key, { message }]) => {
    // `blocklist +192.0.2.1`
    const space = key.indexOf(" ");
    const isRemoval = key[space + 1] === "-";
    return { target: key.slice(0, space), value: key.slice(space + 2), reason: refusedReason(isRemoval, message) };
  });
  const origins = [...plan.origins.refused].map(([host, { operation, message }]) => {
    const isRemoval = operation.startsWith("origins -");
    const hint = isRemoval ? "" : ` ${adoptHint}`;
    return { target: "origin", value: host, reason: `${refusedReason(isRemoval, message)}${hint}` };
  });
  return [...entries, ...origins];
}

function refusedReason(isRemoval: boolean, message: string): string {
  return `the API refused to ${isRemoval ? "remove" : "add"} it: ${asSentence(message)}`;
}

/** Changes that must wait: until another origin becomes the primary, another writer stops, or the list has room. */
export function viewWaiting({ plan }: RunFacts): DifferenceView[] {
  const origins = (plan?.origins.waitingForPrimary ?? []).map((value) => ({
    target: "origin",
    value,
    reason: "is the primary origin, and stays until another host becomes the primary",
  }));
  const contested = (plan?.contested ?? []).map(({ list, entry, untilMs }) => ({
    target: list,
    value: entry,
    reason: `another writer keeps reverting it: corrections are paused until ${formatTime(untilMs)}`,
  }));
  const leftOut = listNames.flatMap((target) => {
    const until = (plan?.lists[target].held ?? 0) > 0 ? ": removals on hold would make room" : "";
    const reason = `the list has no room for it (spec.${target}.maxEntries of the instance)${until}`;
    return [...(plan?.leftOut[target] ?? [])].map((value) => ({ target, value, reason }));
  });
  const removals = listNames.flatMap((target) =>
    (plan?.waiting[target] ?? []).map((value) => ({
      target,
      value,
      reason: "is not removed, because the API refuses an entry that shares addresses with it",
    })),
  );
  return [...origins, ...contested, ...leftOut, ...removals];
}

/** Declared entries that another writer added. */
export function viewUnmanaged({ plan, desired, observed }: RunFacts): DifferenceView[] {
  if (plan === undefined || observed === undefined) return [];
  return findUnmanaged(desired, observed, plan).map((item) => ({
    target: item.list,
    value: item.entry,
    reason: unmanagedReason(item),
  }));
}

function unmanagedReason({ rule: { id, expired, expiresAtMs } }: UnmanagedEntry): string {
  if (expired) return `unmanaged, and stays although ${ruleLabel(id)} has expired`;
  const when = expiresAtMs === undefined ? "no rule declares it any longer" : "the rule expires";
  const link = expiresAtMs === undefined ? "when" : "after";
  return `${ruleLabel(id)} is satisfied by an unmanaged entry, which stays ${link} ${when}`;
}
