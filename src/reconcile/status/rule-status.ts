// The status of a WafIpRule, from the facts of a run.
import { formatTime } from "../../api/conditions.ts";
import type { WafIpRuleStatus } from "../../api/waf-ip-rule.ts";
import type { ListName } from "../../model/declared.ts";
import type { CompiledRule } from "../../plan/lists/compiled-rule.ts";
import type { RuleProgress } from "../../plan/instance/progress.ts";
import { ruleProgress } from "../../plan/instance/progress.ts";
import { describeCarved } from "../../plan/lists/compiled-rule.ts";
import type { RejectedEntry } from "../../plan/lists/rule-entries.ts";
import { asSentence, shortened } from "../../model/sentence.ts";
import type { AcceptedFinding, SyncedFinding } from "./conditions.ts";
import { accepted, conditionsOf } from "./conditions.ts";
import { paceInWords, troubleOf, waitingInWords } from "./trouble.ts";
import type { RunFacts } from "../facts.ts";

const entriesShownMax = 20;
const entryLengthMax = 128;
const sourceLengthMax = 512;
const messageLengthMax = 1024;
/** A status is for reading: where entries, sources and messages are long, fewer entries are shown. */
const entriesBytesMax = 6_000;
/** One entry is always shown, however long everything is. */
const entriesBytesMin = 2_000;
const entriesAndConditionsBytesMax = 7_500;

export function ruleStatus(
  before: Partial<WafIpRuleStatus>,
  rule: CompiledRule,
  facts: RunFacts,
  lastChangeMs: number | undefined,
): Partial<WafIpRuleStatus> {
  const progress = progressOf(rule, facts);
  const { meta } = rule.rule;
  const conditions = conditionsOf(
    before.conditions ?? [],
    { accepted: acceptRule(rule), synced: assessRule(rule, progress, facts) },
    meta.generation,
    facts.nowMs,
  );
  return {
    ...before,
    observedGeneration: meta.generation,
    conditions: [...conditions],
    ...shownEntries(rule, progress, entriesAndConditionsBytesMax - bytesOf(conditions)),
    expiresAt: rule.expiresAtMs === undefined ? undefined : formatTime(rule.expiresAtMs),
    ...(lastChangeMs === undefined ? {} : { lastChangeTime: formatTime(lastChangeMs) }),
    ...(progress === undefined ? {} : countsOf(rule, progress)),
  };
}

function progressOf(rule: CompiledRule, { observed, plan }: RunFacts): RuleProgress | undefined {
  return observed === undefined || plan === undefined ? undefined : ruleProgress(rule, observed, plan);
}

function countsOf(rule: CompiledRule, progress: RuleProgress): Pick<WafIpRuleStatus, "entries" | "progress"> {
  const { desired, synced, pending, refused } = progress;
  return {
    entries: {
      desired,
      synced,
      pending,
      rejected: rule.rejected.length + refused.length,
      ...(rule.carved.length === 0 ? {} : { carved: rule.carved.length }),
    },
    progress: `${synced}/${desired}`,
  };
}

/** What is rejected comes first: a person has to do something about it. */
function shownEntries(
  rule: CompiledRule,
  progress: RuleProgress | undefined,
  bytesLeft: number,
): Pick<WafIpRuleStatus, "rejected" | "carved"> {
  const bytesMax = Math.max(entriesBytesMin, Math.min(entriesBytesMax, bytesLeft));
  const refused = (progress?.refused ?? []).map(({ entry, message }) => ({ entry, source: "the WAF's API", message }));
  const rejected = firstEntries([...rule.rejected, ...refused], bytesMax);
  const carvedItems = rule.carved.slice(0, entriesShownMax);
  const carved = firstEntries(
    carvedItems.map((item) => ({ ...item, message: describeCarved(item) })),
    bytesMax - bytesOf(rejected),
  );
  return { rejected, carved: carved.length === 0 ? undefined : carved };
}

function firstEntries(items: readonly RejectedEntry[], bytesMax: number): WafIpRuleStatus["rejected"] {
  const shown: WafIpRuleStatus["rejected"] = [];
  let bytes = 0;
  for (const { entry, source, message } of items.slice(0, entriesShownMax)) {
    const item = {
      entry: shortened(entry, entryLengthMax),
      source: shortened(source, sourceLengthMax),
      message: shortened(message, messageLengthMax),
    };
    bytes += bytesOf(item);
    if (bytes > bytesMax) break;
    shown.push(item);
  }
  return shown;
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function acceptRule(rule: CompiledRule): AcceptedFinding {
  if (rule.verdict === "Accepted") return accepted;
  return { status: "False", reason: rule.verdict, message: rule.message };
}

function assessRule(rule: CompiledRule, progress: RuleProgress | undefined, facts: RunFacts): SyncedFinding {
  if (!rule.isAttached) {
    return { status: "False", reason: "Pending", message: "The rule is not attached to its instance.", next: "Person" };
  }
  const trouble = troubleOf(facts);
  if (trouble !== undefined) return trouble;
  if (progress === undefined) {
    return { status: "Unknown", reason: "Pending", message: "The WAF is being read.", next: "Working" };
  }
  if (rule.expired) return expiredFinding(rule, facts);
  const { list } = rule;
  const { desired, synced, pending, awaited, refused } = progress;
  const { instance } = facts.gathered;
  if (pending === 0 && refused.length === 0 && awaited > 0) {
    const kept = `${awaited} that its missing ${awaited === 1 ? "source" : "sources"} wanted last stay as they are`;
    return { status: "True", reason: "Synced", message: `${allOn(list, synced)} ${kept}.`, next: "Settled" };
  }
  if (pending === 0) {
    const first = refused[0];
    if (first === undefined) {
      return { status: "True", reason: "Synced", message: allOn(list, desired), next: "Settled" };
    }
    const message = `${synced} of ${desired} entries are on the ${list}; the API refused ${refused.length}. ${first.entry}: ${asSentence(first.message)}`;
    return { status: "False", reason: "Rejected", message, next: "Person" };
  }
  const so = `${synced} of ${desired} entries are on the ${list}`;
  if (facts.phase === "Applying") {
    // The pace is that of all rules together, and says nothing to one that waits for others.
    const pace = synced === 0 ? waitingInWords(facts) : paceInWords(facts);
    return { status: "Unknown", reason: "Syncing", message: `${so}.${pace}`, next: "Working" };
  }
  if (instance.suspend) {
    return { status: "Unknown", reason: "Suspended", message: `${so}; the instance is suspended.`, next: "Paused" };
  }
  if (instance.policies[list] === "Observe") {
    const message = `${so}; the policy Observe of the ${list} writes nothing.`;
    return { status: "False", reason: "Observed", message, next: "Settled" };
  }
  const isContested = facts.plan?.contested.some((item) => item.list === list && rule.entries.has(item.entry)) === true;
  if (isContested) {
    const message = `${so}; somebody else keeps removing the others. See the instance.`;
    return { status: "False", reason: "Contested", message, next: "Person" };
  }
  return { status: "Unknown", reason: "Pending", message: `${so}.`, next: "Working" };
}

function allOn(list: ListName, desired: number): string {
  if (desired === 0) return `The rule has nothing for the ${list}.`;
  return desired === 1 ? `The entry is on the ${list}.` : `All ${desired} entries are on the ${list}.`;
}

function expiredFinding(rule: CompiledRule, facts: RunFacts): SyncedFinding {
  const at = rule.expiresAtMs === undefined ? "" : ` at ${formatTime(rule.expiresAtMs)}`;
  if (facts.phase === "Applying") {
    const message = `The rule expired${at}; its entries are being removed.`;
    return { status: "Unknown", reason: "Syncing", message, next: "Working" };
  }
  const message = `The rule expired${at}; its entries are wanted no longer.`;
  return { status: "True", reason: "Expired", message, next: "Settled" };
}
