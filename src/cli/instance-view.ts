// The data that a command shows about one instance, the same for people and for `-o json`: its objects, and the content of its plan,
// which is writes, adoptions, and all other differences from the declared state.
import { type Condition, findCondition, formatTime } from "../kinds/conditions.ts";
import { type DeclaredCacheClear, listNames } from "../model/declared.ts";
import { type EntryOwners, lastDeclaredBy } from "../model/entry-owners.ts";
import type { Adoption, Operation } from "../model/operation.ts";
import { type ResourceMeta, nameKey } from "../model/resource.ts";
import { ruleIdOf, ruleLabel } from "../model/rule-id.ts";
import { asSentence } from "../model/sentence.ts";
import { progressText } from "../decide/progress.ts";
import { findUnmanaged } from "../decide/other-writers.ts";
import { faultsIn } from "../decide/compiled-rule.ts";
import type { RunFacts } from "../run/facts.ts";
import { unrecordedMessage } from "../run/status/events.ts";
import { keptMessage } from "../run/status/messages.ts";
import { adoptHint } from "../run/status/origin-status.ts";
import { troubleOf } from "../run/status/findings.ts";
import { keyHint } from "./targets/open-waf.ts";

export type ObjectView = ReturnType<typeof viewObject>;

/** An entry that is not applied as it is declared, and why. */
export interface EntryView {
  readonly entry: string;
  readonly source: string;
  readonly message: string;
  readonly place: string;
}

/** One instance, after a run or a preview. */
export type InstanceView = ReturnType<typeof viewInstance> & {
  /** How many times the command cleared the cache; absent if the command does not count clears. */
  readonly cleared?: number;
  /** The added, removed and adopted entries by rule, one sentence each; absent if the command does not collect them. */
  readonly changes?: readonly string[];
};

type Status = Readonly<Record<string, unknown>>;

interface Reported {
  readonly conditions?: readonly Condition[];
  readonly rejected?: readonly Omit<EntryView, "place">[];
  readonly entries?: { readonly rejected?: number };
}

/** The information that a view needs in addition to the facts of a run. */
export interface ObjectLook {
  readStatus(meta: ResourceMeta): Status | undefined;
  /** File and line of the entry that a status identifies by `source`. */
  placeOf(meta: ResourceMeta, source: string): string;
}

/** @param pendingClears Cache clears that a run would handle, before all other calls. */
export function viewInstance(facts: RunFacts, look: ObjectLook, pendingClears: readonly DeclaredCacheClear[] = []) {
  const { gathered, desired, plan, observed, result, done } = facts;
  const { meta } = gathered.instance;
  const progress = rulesProgress(facts);
  const metas: readonly ResourceMeta[] = [
    meta,
    ...desired.rules.map(({ rule }) => rule.meta),
    ...desired.compiledOrigins.map(({ origin }) => origin.meta),
    ...gathered.cacheClears.map((clear) => clear.meta),
  ];
  return {
    namespace: meta.namespace,
    name: meta.name,
    /** The place of its declaration: `waf.yaml:1`. */
    place: meta.location,
    domain: observed?.domain,
    primaryOrigin: observed?.primaryOrigin,
    /** `Done`, or the result otherwise. */
    end: result?.kind ?? "Running",
    trouble: troubleOf(facts)?.message,
    added: done.added + done.originsAdded,
    removed: done.removed + done.originsRemoved,
    /** Entries that became managed without a call. */
    adopted: done.adopted,
    /** Problems that do not stop the run. */
    warnings: [unrecordedMessage(facts) ?? "", keptMessage(facts)].filter((warning) => warning !== ""),
    lists: plan?.lists,
    operations: viewOperations(facts, pendingClears),
    held: viewHeld(facts),
    approve: plan?.held?.hash,
    /** Writes that the API refused, and that are not retried for now. */
    refused: viewRefused(facts),
    /** Changes that must wait for an external event. */
    waiting: viewWaiting(facts),
    /** Declared entries that another writer added: they stay on the WAF when no rule declares them any longer. */
    unmanaged: viewUnmanaged(facts),
    /** Entries and origins that are not applied: refused by the API, or by wafsync itself. */
    rejectedCount: countRejected(facts),
    /** How many entries another writer removed, which the run adds again. */
    driftCount: facts.drift.filter(({ change }) => change === "Vanished").length,
    objects: metas.map((object) => viewObject(object, look, progress)),
  };
}

/** The view for a command that exits after this run, so that nothing is retried. */
export function viewResult(...[facts, look, pendingClears]: Parameters<typeof viewInstance>): InstanceView {
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
function rulesProgress({ desired, progress }: RunFacts): ReadonlyMap<string, string> {
  return new Map(
    desired.rules.flatMap((rule) => {
      const suggested = rule.suggested?.size ?? 0;
      const counts = progress?.get(rule);
      if (counts === undefined) return [];
      return [[rule.id, suggested > 0 ? `${suggested} suggested` : progressText(rule, counts)]];
    }),
  );
}

function countRejected({ desired, plan }: RunFacts): number {
  const bySelf = desired.rules.reduce((count, { rejected }) => count + faultsIn(rejected).length, 0);
  const origins = desired.compiledOrigins.filter(({ verdict }) => verdict !== "Accepted").length;
  return bySelf + origins + (plan === undefined ? 0 : plan.refusals.size + plan.origins.refused.size);
}

function viewObject(meta: ResourceMeta, look: ObjectLook, rules: ReadonlyMap<string, string>) {
  const { kind, namespace, name, location: place } = meta;
  const status = look.readStatus(meta) ?? {};
  const { conditions = [], rejected: items = [], entries } = status as Reported;
  const ready = findCondition(conditions, "Ready");
  const accepted = findCondition(conditions, "Accepted");
  const isAccepted = accepted?.status !== "False";
  const { reason = "", message = "" } = (isAccepted || ready?.status === "False" ? ready : accepted) ?? {};
  const counted = kind === "WafIpRule" || kind === "WafAutoBlock" ? rules.get(ruleIdOf(meta)) : undefined;
  const rejected: EntryView[] = items.map((item) => ({ ...item, place: look.placeOf(meta, item.source) }));
  return {
    kind,
    namespace,
    name,
    /** `120/10000` or `expired` for a rule, the state for an origin, the last handled trigger for a cache clear. */
    progress: counted ?? progressOf(status),
    ready: ready?.status ?? "Unknown",
    reason,
    message,
    /** The place of its declaration: `rules.yaml:1`. */
    place,
    /** False if it, or a part of it, is invalid and has to be corrected. */
    isAccepted,
    /** For a rule: how many entries are not applied, and the first of them. */
    rejectedCount: entries?.rejected ?? rejected.length,
    rejected,
  };
}

/** The state of an origin, or the last handled trigger of a cache clear, as reported. */
function progressOf({ progress, state, lastTrigger }: Status): string {
  const reported = progress ?? state ?? lastTrigger;
  return typeof reported === "string" ? reported : "";
}

/** A difference from the declared state that this plan does not correct. */
export interface DifferenceView {
  readonly target: string;
  readonly value: string;
  readonly reason: string;
}

export interface OperationView extends DifferenceView {
  readonly operation: Operation["kind"] | "Adopt" | "ClearCache";
}

/** In the order of execution: one cache clear for all pending ones, adoptions without a call, then the writes. */
function viewOperations(
  { plan, drift, gathered }: RunFacts,
  pendingClears: readonly DeclaredCacheClear[],
): OperationView[] {
  const drifted = new Map(drift.map(({ list, entry, change }) => [`${list} ${entry}`, change]));
  const view = (operation: Operation): OperationView => viewOperation(operation, drifted);
  const off = `not written, because ${gathered.instance.suspend ? "the instance is suspended" : "the policy is Observe"}`;
  return [
    ...pendingClears.map(viewClear),
    ...(plan?.adoptions ?? []).map(viewAdoption),
    ...(plan?.operations ?? []).map(view),
    ...(plan?.observedOnly ?? []).map(view).map((one) => ({ ...one, reason: `${one.reason}; ${off}` })),
  ];
}

function viewOperation(
  operation: Operation,
  drifted: ReadonlyMap<string, RunFacts["drift"][number]["change"]>,
): OperationView {
  const { kind, reason } = operation;
  if (kind === "AddOrigin" || kind === "RemoveOrigin") {
    return { operation: kind, target: `${operation.type.toLowerCase()} origin`, value: operation.host, reason };
  }
  const { list: target, entry } = operation;
  const change = drifted.get(`${target} ${entry}`);
  if (kind === "RemoveEntry") {
    const again = change === "Reappeared" ? "removed before and added again by another writer; " : "";
    return { operation: kind, target, value: operation.spelling, reason: `${again}${reason}` };
  }
  const [first = "", ...others] = operation.rules;
  const also = others.length === 0 ? "" : ` and ${others.length} more`;
  const again = `was removed by another writer and will be added again for ${ruleLabel(first)}${also}`;
  return { operation: kind, target, value: entry, reason: change === "Vanished" ? again : reason };
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
function viewHeld({ plan }: RunFacts): OperationView[] {
  const { obstacle, removals, origins = [] } = plan?.held ?? {};
  const why = asSentence(obstacle?.reason ?? "the guards of the instance allow fewer removals at once");
  const view = (operation: "RemoveEntry" | "RemoveOrigin", target: string, value: string, owners: EntryOwners) => {
    const former = lastDeclaredBy(owners);
    return { operation, target, value, reason: `on hold${former === "" ? "" : `, ${former}`}: ${why}` };
  };
  return [
    ...listNames.flatMap((list) =>
      (removals?.[list] ?? []).map(({ entry, owners }) => view("RemoveEntry", list, entry, owners)),
    ),
    ...origins.map(({ host, owners }) => view("RemoveOrigin", "origin", host, owners)),
  ];
}

function viewRefused({ plan }: RunFacts): DifferenceView[] {
  if (plan === undefined) return [];
  const entries = [...plan.refusals].map(([key, { message }]) => {
    // `blocklist +192.0.2.1`
    const { target = "", sign = "", value = "" } = /^(?<target>\S*) (?<sign>.)(?<value>.*)$/.exec(key)?.groups ?? {};
    return { target, value, reason: refusedReason(sign === "-", message) };
  });
  const origins = [...plan.origins.refused].map(([value, { operation, message }]) => {
    const isRemoval = operation.startsWith("origins -");
    const reason = `${refusedReason(isRemoval, message)}${isRemoval ? "" : ` ${adoptHint}`}`;
    return { target: "origin", value, reason };
  });
  return [...entries, ...origins];
}

function refusedReason(isRemoval: boolean, message: string): string {
  return `the API refused to ${isRemoval ? "remove" : "add"} it: ${asSentence(message)}`;
}

/** Until another origin becomes the primary, another writer stops, or the list has room. */
function viewWaiting({ plan }: RunFacts): DifferenceView[] {
  if (plan === undefined) return [];
  const all = (target: string, values: Iterable<string>, reason: string): DifferenceView[] =>
    [...values].map((value) => ({ target, value, reason }));
  const stays = "is the primary origin, and stays until another host becomes the primary";
  const shares = "is not removed, because the API refuses an entry that shares addresses with it";
  return [
    ...all("origin", plan.origins.waitingForPrimary, stays),
    ...plan.contested.map(({ list, entry, untilMs }) => ({
      target: list,
      value: entry,
      reason: `another writer keeps reverting it: corrections are paused until ${formatTime(untilMs)}`,
    })),
    ...listNames.flatMap((list) => {
      const until = plan.lists[list].held > 0 ? ": removals on hold would make room" : "";
      const noRoom = `the list has no room for it (spec.${list}.maxEntries of the instance)${until}`;
      return all(list, plan.leftOut[list], noRoom);
    }),
    ...listNames.flatMap((list) => all(list, plan.waiting[list], shares)),
  ];
}

function viewUnmanaged({ plan, desired }: RunFacts): DifferenceView[] {
  if (plan === undefined) return [];
  return findUnmanaged(desired, plan).map(({ list, entry, rule: { id, expired, expiresAtMs } }) => {
    const left = `unmanaged, and stays although ${ruleLabel(id)} has expired`;
    const when = expiresAtMs === undefined ? "when no rule declares it any longer" : "after the rule expires";
    const stays = `${ruleLabel(id)} is satisfied by an unmanaged entry, which stays ${when}`;
    return { target: list, value: entry, reason: expired ? left : stays };
  });
}
