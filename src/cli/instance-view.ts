// The data that a command shows about one instance, the same for people and for `-o json`: its objects, and the content of its plan,
// which is writes, adoptions, and all other differences from the declared state.
import type { Condition } from "../api/conditions.ts";
import { findCondition, formatTime } from "../api/conditions.ts";
import type { DeclaredCacheClear } from "../model/declared.ts";
import { listNames } from "../model/declared.ts";
import { lastDeclaredBy } from "../model/entry-owners.ts";
import type { Adoption, Operation } from "../model/operation.ts";
import type { ResourceMeta } from "../model/resource.ts";
import { nameKey } from "../model/resource.ts";
import { ruleIdOf, ruleLabel } from "../model/rule-id.ts";
import { asSentence } from "../model/sentence.ts";
import type { DriftedEntry } from "../plan/instance/drift.ts";
import { progressText, ruleProgress } from "../plan/instance/progress.ts";
import type { UnmanagedEntry } from "../plan/instance/unmanaged.ts";
import { findUnmanaged } from "../plan/instance/unmanaged.ts";
import { faultsIn } from "../plan/lists/compiled-rule.ts";
import type { RunFacts } from "../reconcile/facts.ts";
import { unrecordedMessage } from "../reconcile/status/emit-events.ts";
import { keptMessage } from "../reconcile/status/held-message.ts";
import { adoptHint } from "../reconcile/status/origin-status.ts";
import { troubleOf } from "../reconcile/status/trouble.ts";
import { keyHint } from "./targets/open-waf.ts";

export interface ObjectView {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** `120/10000` or `expired` for a rule, the state for an origin, the last handled trigger for a cache clear. */
  readonly progress: string;
  readonly ready: string;
  readonly reason: string;
  readonly message: string;
  /** The place of its declaration: `rules.yaml:1`. */
  readonly place: string;
  /** False if it, or a part of it, is invalid and has to be corrected. */
  readonly isAccepted: boolean;
  /** For a rule: how many entries are not applied. */
  readonly rejectedCount: number;
  /** The first of these entries. */
  readonly rejected: readonly EntryView[];
}

/** An entry that is not applied as it is declared, and why. */
export interface EntryView {
  readonly entry: string;
  readonly source: string;
  readonly message: string;
  readonly place: string;
}

export interface InstanceView {
  readonly namespace: string;
  readonly name: string;
  /** The place of its declaration: `waf.yaml:1`. */
  readonly place: string;
  readonly domain: string | undefined;
  readonly primaryOrigin: string | undefined;
  /** `Done`, or the result otherwise. */
  readonly end: string;
  readonly trouble: string | undefined;
  readonly added: number;
  readonly removed: number;
  /** How many times the command cleared the cache; absent if the command does not count clears. */
  readonly cleared?: number;
  /** The added, removed and adopted entries by rule, one sentence each; absent if the command does not collect them. */
  readonly changes?: readonly string[];
  /** Entries that became managed without a call. */
  readonly adopted: number;
  /** Problems that do not stop the run. */
  readonly warnings: readonly string[];
  readonly lists: RunFacts["lists"];
  readonly operations: readonly OperationView[];
  readonly held: readonly OperationView[];
  readonly approve: string | undefined;
  /** Writes that the API refused. */
  readonly refused: readonly DifferenceView[];
  /** Changes that must wait for an external event. */
  readonly waiting: readonly DifferenceView[];
  /** Declared entries that another writer added: they stay on the WAF when no rule declares them any longer. */
  readonly unmanaged: readonly DifferenceView[];
  /** Entries and origins that are not applied: refused by the API, or by wafsync itself. */
  readonly rejectedCount: number;
  /** How many entries another writer removed, which the run adds again. */
  readonly driftCount: number;
  readonly objects: readonly ObjectView[];
}

type Status = Readonly<Record<string, unknown>>;

/** The information that a view needs in addition to the facts of a run. */
export interface ObjectLook {
  readStatus(meta: ResourceMeta): Status | undefined;
  /** File and line of the entry that a status identifies by `source`. */
  placeOf(meta: ResourceMeta, source: string): string;
}

/** @param pendingClears Cache clears that a run would handle, before all other calls. */
export function viewInstance(
  facts: RunFacts,
  look: ObjectLook,
  pendingClears: readonly DeclaredCacheClear[] = [],
): InstanceView {
  const { meta } = facts.gathered.instance;
  const { plan, observed } = facts;
  const progress = rulesProgress(facts);
  const metas = [
    meta,
    ...facts.desired.rules.map(({ rule }) => rule.meta),
    ...facts.desired.compiledOrigins.map(({ origin }) => origin.meta),
    ...facts.gathered.cacheClears.map((clear) => clear.meta),
  ];
  return {
    namespace: meta.namespace,
    name: meta.name,
    place: meta.location,
    domain: observed?.domain,
    primaryOrigin: observed?.primaryOrigin,
    end: facts.result === undefined ? "Running" : facts.result.kind,
    trouble: troubleOf(facts)?.message,
    added: facts.done.added + facts.done.originsAdded,
    removed: facts.done.removed + facts.done.originsRemoved,
    adopted: facts.done.adopted,
    warnings: [unrecordedMessage(facts) ?? "", keptMessage(facts)].filter((warning) => warning !== ""),
    lists: facts.lists,
    operations: viewOperations(facts, pendingClears),
    held: viewHeld(facts),
    approve: plan?.held?.hash,
    refused: viewRefused(facts),
    waiting: viewWaiting(facts),
    unmanaged: viewUnmanaged(facts),
    rejectedCount: countRejected(facts),
    driftCount: facts.drift.filter(({ change }) => change === "Vanished").length,
    objects: metas.map((object) => viewObject(object, look, progress)),
  };
}

/** The view for a command that exits after this run, so that nothing is retried. */
export function viewResult(
  facts: RunFacts,
  look: ObjectLook,
  pendingClears: readonly DeclaredCacheClear[] = [],
): InstanceView {
  const view = viewInstance(facts, look, pendingClears);
  if (facts.result?.kind !== "Failed") return view;
  const { fault } = facts.result;
  const hint = keyHint(fault, { instance: facts.gathered.instance, isInFolder: true });
  return { ...view, trouble: hint === undefined ? fault.message : `${fault.message} ${hint}` };
}

/**
 * The progress of each rule by `namespace/name`, computed from the facts of the run, because an interrupted run reports no
 * status. Rejected entries count as declared.
 */
function rulesProgress({ desired, observed, plan, inventory }: RunFacts): ReadonlyMap<string, string> {
  if (observed === undefined || plan === undefined || inventory === undefined) return new Map();
  return new Map(
    desired.rules.map((rule) => {
      const suggested = rule.suggested?.size ?? 0;
      if (suggested > 0) return [rule.id, `${suggested} suggested`];
      return [rule.id, progressText(rule, ruleProgress(rule, observed, plan, inventory.entries))];
    }),
  );
}

function isRuleKind(kind: ResourceMeta["kind"]): boolean {
  return kind === "WafIpRule" || kind === "WafAutoBlock";
}

function countRejected({ desired, plan }: RunFacts): number {
  const bySelf = desired.rules.reduce((count, { rejected }) => count + faultsIn(rejected).length, 0);
  const origins = desired.compiledOrigins.filter(({ verdict }) => verdict !== "Accepted").length;
  return bySelf + origins + (plan === undefined ? 0 : plan.refusals.size + plan.origins.refused.size);
}

function viewObject(meta: ResourceMeta, look: ObjectLook, rules: ReadonlyMap<string, string>): ObjectView {
  const status = look.readStatus(meta);
  const conditions = (status?.["conditions"] ?? []) as readonly Condition[];
  const ready = findCondition(conditions, "Ready");
  const accepted = findCondition(conditions, "Accepted");
  const isAccepted = accepted?.status !== "False";
  const deciding = isAccepted || ready?.status === "False" ? ready : accepted;
  const items = (status?.["rejected"] ?? []) as readonly Omit<EntryView, "place">[];
  const rejected = items.map((item) => ({ ...item, place: look.placeOf(meta, item.source) }));
  const counts = (status?.["entries"] ?? {}) as { readonly rejected?: number };
  const counted = isRuleKind(meta.kind) ? rules.get(ruleIdOf(meta)) : undefined;
  const progress = counted ?? status?.["progress"] ?? status?.["state"] ?? status?.["lastTrigger"];
  return {
    kind: meta.kind,
    namespace: meta.namespace,
    name: meta.name,
    progress: typeof progress === "string" ? progress : "",
    ready: ready?.status ?? "Unknown",
    reason: deciding?.reason ?? "",
    message: deciding?.message ?? "",
    place: meta.location,
    isAccepted,
    rejectedCount: counts.rejected ?? rejected.length,
    rejected,
  };
}

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
      views.push({
        operation: "RemoveEntry",
        target: list,
        value: removal.entry,
        reason: whyOnHold(removal, plan?.held),
      });
    }
  }
  for (const removal of plan?.held?.origins ?? []) {
    views.push({
      operation: "RemoveOrigin",
      target: "origin",
      value: removal.host,
      reason: whyOnHold(removal, plan?.held),
    });
  }
  return views;
}

function whyOnHold({ owners }: Pick<Held["origins"][number], "owners">, held: Held | undefined): string {
  const why = held?.obstacle?.reason ?? "the guards of the instance allow fewer removals at once";
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
