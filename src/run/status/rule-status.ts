// The status of a WafIpRule, from the facts of a run.
import { formatTime } from "../../model/time-text.ts";
import { type ListName, unblockedAtMs } from "../../model/declared.ts";
import { excerpt } from "../../model/redactor.ts";
import { asSentence, counted, shortened } from "../../model/sentence.ts";
import {
  accepted,
  type AcceptedFinding,
  forPerson,
  reading,
  type SyncedFinding,
  troubleOf,
  unwrittenFinding,
  withFindings,
} from "./findings.ts";
import { progressText, type RuleProgress } from "../../decide/progress.ts";
import { overflowSentence } from "./messages.ts";
import type { RunFacts } from "../facts.ts";
import { describeSource } from "../../model/address-source.ts";
import type { WafIpRuleStatus } from "../../kinds/waf-ip-rule.ts";
import { type CompiledRule, describeRejected, faultsIn, isDerived, listedBy } from "../../decide/compiled-rule.ts";

const entriesShownMax = 20;
const sourcesShownMax = 10;
/** Of an entry and its source. A status must stay readable. */
const entryLengthMax = 128;
const rejectedLengthMax = 256;

export function ruleStatus(
  before: Partial<WafIpRuleStatus>,
  compiled: CompiledRule,
  facts: RunFacts,
  lastChangeMs: number | undefined,
): Partial<WafIpRuleStatus> {
  const { rule, expiresAtMs } = compiled;
  const progress = facts.progress?.get(compiled);
  const assessment = { accepted: acceptRule(compiled), found: assessRule(compiled, progress, facts) };
  const common = withFindings(before, rule.meta, "Synced", assessment, facts.nowMs);
  const sources = sourcesOf(compiled, facts);
  return {
    ...common,
    rejected: rejectedEntries(compiled, progress),
    sources: sources.length === 0 ? undefined : sources,
    expiresAt: formatTime(expiresAtMs),
    ...(lastChangeMs === undefined ? {} : { lastChangeTime: formatTime(lastChangeMs) }),
    ...(progress === undefined ? {} : countsOf(compiled, progress)),
  };
}

function countsOf(rule: CompiledRule, progress: RuleProgress): Pick<WafIpRuleStatus, "entries" | "progress"> {
  const { desired, synced, pending, foreign, refused, leftOut } = progress;
  return {
    entries: {
      desired,
      synced,
      pending,
      rejected: rule.rejected.length + refused.length,
      ...(isDerived(rule) && rule.isAttached && !rule.expired && { declared: listedBy(rule).size }),
      ...(foreign.length === 0 ? {} : { foreign: foreign.length }),
      ...(leftOut.length === 0 ? {} : { overflow: leftOut.length }),
    },
    progress: progressText(rule, progress),
  };
}

/** Rejected entries come first, because a person has to correct them. Those of feeds come last. */
function rejectedEntries({ rejected }: CompiledRule, progress: RuleProgress | undefined) {
  const refused = (progress?.refused ?? []).map((one) => ({ ...one, source: "the WAF's API" }));
  const ofFeeds = rejected.filter(({ isOfFeed }) => isOfFeed === true);
  const shown = [...faultsIn(rejected), ...refused, ...ofFeeds].slice(0, entriesShownMax);
  return shown.map(({ entry, source, message }) => ({
    entry: shortened(entry, entryLengthMax),
    source: shortened(source, entryLengthMax),
    message: excerpt(message, rejectedLengthMax),
  }));
}

function sourcesOf({ rule, parts }: CompiledRule, { gathered }: RunFacts) {
  const texts = gathered.rules.find((one) => one.rule === rule)?.texts ?? [];
  return rule.addressesFrom.slice(0, sourcesShownMax).map((source, index) => {
    const { kind, name, key } = source;
    const text = texts[index];
    const entries = parts.find((part) => part.source === describeSource(source))?.entries.size ?? 0;
    const field = `${kind.charAt(0).toLowerCase()}${kind.slice(1)}`;
    return { [field]: name, key, ...(text?.state === "Read" ? { entries } : {}) };
  });
}

function acceptRule(rule: CompiledRule): AcceptedFinding {
  if (rule.verdict !== "Accepted") return { status: "False", reason: rule.verdict, message: rule.message };
  // If the rule is accepted, only entries of feeds can be rejected.
  return rule.rejected.length === 0 ? accepted : { ...accepted, message: describeRejected(rule.rejected) };
}

/** The finding for the condition Synced. `progress` is undefined until the WAF has been read. */
export function assessRule(rule: CompiledRule, progress: RuleProgress | undefined, facts: RunFacts): SyncedFinding {
  if (!rule.isAttached) {
    return forPerson("Pending", "The rule is not attached to its instance.");
  }
  const trouble = troubleOf(facts);
  if (trouble !== undefined) return trouble;
  if (progress === undefined) return reading;
  const { list, expired } = rule;
  const { desired, synced, refused, leftOut, left } = progress;
  const still = counted(left.length, "of its entries is still", "of its entries are still");
  const so = expired
    ? `${expiredAt(rule)}, and ${still} on the ${list}`
    : `${synced} of ${desired} entries are on the ${list}`;
  const isPending = expired ? left.length > 0 : progress.pending > 0;
  if (isPending) return assessPending(list, so, progress, facts);
  const [first] = refused;
  if (first !== undefined) {
    const message = `${so}; the API refused ${refused.length}. ${first.entry}: ${asSentence(first.message)}`;
    return forPerson("Rejected", message);
  }
  if (leftOut.length > 0) return forPerson("CapacityExceeded", `${so}; ${overflowSentence(list, leftOut, facts)}`);
  const is = expired ? `${expiredAt(rule)}; it no longer declares entries.` : allOn(list, desired);
  const message = `${is}${foreignSentence(progress, facts, list)}`;
  return { status: "True", reason: expired ? "Expired" : "Synced", message, next: "Settled" };
}

/** Some entries are not on the list yet; or still, although the rule has expired. */
function assessPending(
  list: ListName,
  so: string,
  { isContested, left }: RuleProgress,
  facts: RunFacts,
): SyncedFinding {
  if (left.some(({ outcome }) => outcome.kind === "Held")) {
    const message = `${so}: removals are on hold. See the condition RemovalsHeld of the instance.`;
    return forPerson("Held", message);
  }
  const found = unwrittenFinding(list, so, facts);
  if (found.reason !== "Pending" || !isContested || facts.result === undefined) return found;
  return forPerson("Contested", `${so}; another writer keeps removing the others. See the instance.`);
}

function expiredAt({ expiresAtMs }: CompiledRule): string {
  const at = expiresAtMs === undefined || expiresAtMs === unblockedAtMs ? "" : ` at ${formatTime(expiresAtMs)}`;
  return `The rule expired${at}`;
}

/** Reports entries that stay although no rule declares them; with the policy Exclusive they do not stay. */
function foreignSentence({ foreign }: RuleProgress, { gathered }: RunFacts, list: ListName): string {
  if (foreign.length === 0 || gathered.instance.policies[list] === "Exclusive") return "";
  const some = counted(foreign.length, "of the entries, which stays", "of the entries, which stay");
  return ` Another writer added ${some} on the ${list} without the rule.`;
}

function allOn(list: ListName, desired: number): string {
  if (desired === 0) return `The rule has no entries for the ${list}.`;
  return desired === 1 ? `The entry is on the ${list}.` : `All ${desired} entries are on the ${list}.`;
}
