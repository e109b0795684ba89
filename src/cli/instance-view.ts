// The data that a command shows about one instance, the same for people and for `-o json`: its objects, and the content of its plan,
// which is writes, adoptions, and all other differences from the declared state.
import { type DeclaredCacheClear, listNames } from "../model/declared.ts";
import { type EntryOwners, lastDeclaredBy, unknownOwners } from "../model/entry-owners.ts";
import type { Adoption, Operation } from "../model/operation.ts";
import { nameKey, resourceKey, type ResourceMeta } from "../model/resource.ts";
import { ruleLabel } from "../model/rule-id.ts";
import { asSentence } from "../model/sentence.ts";
import { progressText } from "../decide/progress.ts";
import { findUnmanaged } from "../decide/other-writers.ts";
import { faultsIn } from "../decide/compiled-rule.ts";
import type { RunFacts } from "../run/facts.ts";
import { unrecordedMessage } from "../run/status/events.ts";
import { keptMessage } from "../run/status/messages.ts";
import { adoptHint } from "../run/status/statuses.ts";
import { troubleOf } from "../run/status/findings.ts";
import { type ReportedObject, viewObject } from "./object-view.ts";
import { keyHint } from "./targets/open-waf.ts";

/** One instance, after a run or a preview. */
export type InstanceView = ReturnType<typeof viewInstance> & {
  /** How many times the command cleared the cache; absent if the command does not count clears. */
  readonly cleared?: number;
  /** The added, removed and adopted entries by rule, one sentence each; absent if the command does not collect them. */
  readonly changes?: readonly string[];
};

/** The information that a view needs in addition to the facts of a run. */
export interface ObjectLook {
  readStatus(meta: ResourceMeta): ReportedObject["status"];
  /** File and line of the entry that a status identifies by `source`. */
  placeOf(meta: ResourceMeta, source: string): string;
}

/** @param pendingClears Cache clears that a run would handle, before all other calls. */
export function viewInstance(facts: RunFacts, look: ObjectLook, pendingClears: readonly DeclaredCacheClear[] = []) {
  const { gathered, desired, plan, observed, result, done } = facts;
  const { meta } = gathered.instance;
  const progress = rulesProgress(facts);
  const others = viewOthers(facts);
  const objects: readonly { readonly meta: ResourceMeta; readonly description?: string }[] = [
    gathered.instance,
    ...desired.rules.map(({ rule }) => rule),
    ...desired.compiledOrigins.map(({ origin }) => origin),
    ...gathered.cacheClears,
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
    ...others,
    /** Declared entries that another writer added: they stay on the WAF when no rule declares them any longer. */
    unmanaged: viewUnmanaged(facts),
    /** Entries and origins that are not applied: refused by the API, or by wafsync itself. */
    rejectedCount: others.refused.length + countRejected(desired),
    /** How many entries another writer removed, which the run adds again. */
    driftCount: facts.drift.filter(({ change }) => change === "Vanished").length,
    objects: objects.map(({ meta: object, description }) =>
      viewObject(
        {
          ...object,
          description,
          status: look.readStatus(object),
          placeOf: (source) => (source === undefined ? object.location : look.placeOf(object, source)),
        },
        progress.get(resourceKey(object)),
      ),
    ),
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

/** The progress of each rule, because an interrupted run reports no status. */
function rulesProgress({ desired, progress }: RunFacts): ReadonlyMap<string, string> {
  return new Map(
    desired.rules.flatMap((rule) => {
      const suggested = rule.suggested?.size ?? 0;
      const counts = progress?.get(rule);
      if (counts === undefined) return [];
      return [[resourceKey(rule.rule.meta), suggested > 0 ? `${suggested} suggested` : progressText(rule, counts)]];
    }),
  );
}

/** What wafsync itself rejected. */
function countRejected({ rules, compiledOrigins }: RunFacts["desired"]): number {
  const entries = rules.reduce((count, { rejected }) => count + faultsIn(rejected).length, 0);
  return entries + compiledOrigins.filter(({ verdict }) => verdict !== "Accepted").length;
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

/** What the plan does not correct, from the outcomes of all rows. */
function viewOthers({ plan }: RunFacts) {
  const held: OperationView[] = [];
  const refused: DifferenceView[] = [];
  const waiting: DifferenceView[] = [];
  const hold = (operation: "RemoveEntry" | "RemoveOrigin", target: string, value: string, owners: EntryOwners) => {
    const former = lastDeclaredBy(owners);
    const why = asSentence(plan?.held?.obstacle?.reason ?? "the guards of the instance allow fewer removals at once");
    held.push({ operation, target, value, reason: `on hold${former === "" ? "" : `, ${former}`}: ${why}` });
  };
  for (const target of listNames) {
    const until = plan !== undefined && plan.lists[target].held > 0 ? ": removals on hold would make room" : "";
    for (const { entry: value, recorded, outcome } of plan?.outcomes[target] ?? []) {
      const { kind, reason } = outcome;
      if (kind === "Held") hold("RemoveEntry", target, value, recorded?.owners ?? unknownOwners);
      if (kind === "Refused") refused.push({ target, value, reason: asSentence(reason) });
      if (kind === "Contested") waiting.push({ target, value, reason });
      if (kind === "NoRoom")
        waiting.push({ target, value, reason: `${reason} (spec.${target}.maxEntries of the instance)${until}` });
    }
    for (const value of plan?.waiting[target] ?? []) {
      const reason = "is not removed, because the API refuses an entry that shares addresses with it";
      waiting.push({ target, value, reason });
    }
  }
  const target = "origin";
  for (const { host, owners } of plan?.held?.origins ?? []) hold("RemoveOrigin", target, host, owners);
  for (const [value, { kind, reason, insteadOf }] of plan?.origins.outcomes ?? []) {
    if (kind === "Primary")
      waiting.push({
        target,
        value,
        reason: "is the primary origin, and stays until another host becomes the primary",
      });
    if (kind === "Refused")
      refused.push({ target, value, reason: insteadOf === "Add" ? `${asSentence(reason)} ${adoptHint}` : reason });
  }
  return {
    /** Removals on hold, each with its reason, and the hash that approves them. */
    held,
    approve: plan?.held?.hash,
    /** Writes that the API refused, and that are not retried for now. */
    refused,
    /** Changes that must wait for an external event: another primary origin, another writer, or room on the list. */
    waiting,
  };
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
