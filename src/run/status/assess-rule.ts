// Assesses a rule: the finding for its condition Synced.
import { formatTime } from "../../kinds/conditions.ts";
import type { ListName } from "../../model/declared.ts";
import { unblockedAtMs } from "../../model/declared.ts";
import { asSentence, counted } from "../../model/sentence.ts";
import type { RuleProgress } from "../../decide/progress.ts";
import { entriesLeft } from "../../decide/progress.ts";
import type { CompiledRule } from "../../decide/compiled-rule.ts";
import type { RunFacts } from "../facts.ts";
import { limitSuggestion, overflowOfRule } from "./capacity-message.ts";
import type { SyncedFinding } from "./conditions.ts";
import { paceInWords, troubleOf, waitingInWords } from "./trouble.ts";

/** `progress` is undefined until the WAF has been read. */
export function assessRule(rule: CompiledRule, progress: RuleProgress | undefined, facts: RunFacts): SyncedFinding {
  if (!rule.isAttached) {
    return { status: "False", reason: "Pending", message: "The rule is not attached to its instance.", next: "Person" };
  }
  const trouble = troubleOf(facts);
  if (trouble !== undefined) return trouble;
  if (progress === undefined) {
    return { status: "Unknown", reason: "Pending", message: "The WAF is being read.", next: "Working" };
  }
  if (rule.expired) return assessExpired(rule, progress, facts);
  return progress.pending === 0 ? assessWritten(rule, progress, facts) : assessPending(rule, progress, facts);
}

function assessWritten(rule: CompiledRule, progress: RuleProgress, facts: RunFacts): SyncedFinding {
  const { list } = rule;
  const { desired, synced, refused, leftOut } = progress;
  const [first] = refused;
  if (first !== undefined) {
    const message = `${synced} of ${desired} entries are on the ${list}; the API refused ${refused.length}. ${first.entry}: ${asSentence(first.message)}${suggestionFor(rule, facts)}`;
    return { status: "False", reason: "Rejected", message, next: "Person" };
  }
  if (leftOut.length > 0) {
    const message = `${synced} of ${desired} entries are on the ${list}; ${overflowOfRule(list, leftOut, facts)}`;
    return { status: "False", reason: "CapacityExceeded", message, next: "Person" };
  }
  const foreign = `${derivedSentence(rule)}${foreignSentence(progress, facts, list)}`;
  return { status: "True", reason: "Synced", message: `${allOn(list, desired)}${foreign}`, next: "Settled" };
}

/** Guests must not learn the size of the list. */
function suggestionFor({ isOwners }: CompiledRule, facts: RunFacts): string {
  return isOwners ? limitSuggestion(facts) : "";
}

/** The entries on the list may be fewer or more than those that the rule declares. */
function derivedSentence({ declared, rule }: CompiledRule): string {
  if (declared === undefined) return "";
  const fields = [...(rule.except.length === 0 ? [] : ["spec.except"]), ...(rule.aggregate ? ["spec.aggregate"] : [])];
  return ` The rule declares ${counted(declared, "entry", "entries")}, before ${fields.join(" and ")}.`;
}

function assessPending(rule: CompiledRule, { desired, synced }: RuleProgress, facts: RunFacts): SyncedFinding {
  const { list } = rule;
  const so = `${synced} of ${desired} entries are on the ${list}`;
  if (facts.phase === "Applying") {
    // The rate is for all rules together, and not meaningful for a rule that waits for others.
    const pace = synced === 0 ? waitingInWords(facts) : paceInWords(facts);
    return { status: "Unknown", reason: "Pending", message: `${so}.${pace}`, next: "Working" };
  }
  const unwritten = assessUnwritten(so, list, facts);
  if (unwritten !== undefined) return unwritten;
  const isContested = facts.plan?.contested.some((item) => item.list === list && rule.entries.has(item.entry)) === true;
  if (isContested) {
    const message = `${so}; another writer keeps removing the others. See the instance.`;
    return { status: "False", reason: "Contested", message, next: "Person" };
  }
  return { status: "Unknown", reason: "Pending", message: `${so}.`, next: "Working" };
}

/** The finding if the instance currently writes nothing. */
function assessUnwritten(so: string, list: ListName, { gathered }: RunFacts): SyncedFinding | undefined {
  if (gathered.instance.suspend) {
    return { status: "Unknown", reason: "Suspended", message: `${so}; the instance is suspended.`, next: "Paused" };
  }
  if (gathered.instance.policies[list] === "Observe") {
    const message = `${so}; the policy Observe of the ${list} writes nothing.`;
    return { status: "False", reason: "Observed", message, next: "Settled" };
  }
  return undefined;
}

/** A rule is reported as expired only after its entries are removed: while some are on hold, it reports this. */
function assessExpired(rule: CompiledRule, progress: RuleProgress, facts: RunFacts): SyncedFinding {
  const { list } = rule;
  const at =
    rule.expiresAtMs === undefined || rule.expiresAtMs === unblockedAtMs ? "" : ` at ${formatTime(rule.expiresAtMs)}`;
  const { observed, inventory, desired, plan } = facts;
  const left =
    observed === undefined || inventory === undefined
      ? []
      : entriesLeft(rule, { observed, wanted: desired.lists[list], managed: inventory.entries });
  if (left.length === 0) {
    const message = `The rule expired${at}; it no longer declares entries.${foreignSentence(progress, facts, list)}`;
    return { status: "True", reason: "Expired", message, next: "Settled" };
  }
  if (facts.phase === "Applying") {
    const message = `The rule expired${at}; its entries are being removed.`;
    return { status: "Unknown", reason: "Pending", message, next: "Working" };
  }
  const still = left.length === 1 ? "1 of its entries is still" : `${left.length} of its entries are still`;
  const so = `The rule expired${at}, and ${still} on the ${list}`;
  const held = new Set(plan?.held?.removals[list].map(({ entry }) => entry));
  if (left.some((entry) => held.has(entry))) {
    const message = `${so}: removals are on hold. See the condition RemovalsHeld of the instance.`;
    return { status: "False", reason: "Held", message, next: "Person" };
  }
  return (
    assessUnwritten(so, list, facts) ?? { status: "Unknown", reason: "Pending", message: `${so}.`, next: "Working" }
  );
}

/** Reports entries that stay although no rule declares them; with the policy Exclusive they do not stay. */
function foreignSentence({ desired, foreign }: RuleProgress, { gathered }: RunFacts, list: ListName): string {
  if (foreign === 0 || gathered.instance.policies[list] === "Exclusive") return "";
  if (desired === 0) {
    const stay = foreign === 1 ? "1 of its entries stays" : `${foreign} of its entries stay`;
    return ` ${stay} on the ${list}: another writer added ${foreign === 1 ? "it" : "them"}.`;
  }
  const were = foreign === 1 ? "1 of them was" : `${foreign} of them were`;
  const [which, stay] = desired === 1 ? ["It was", "stays"] : [were, foreign === 1 ? "stays" : "stay"];
  return ` ${which} added by another writer, and ${stay} on the ${list} when the rule expires or is deleted.`;
}

function allOn(list: ListName, desired: number): string {
  if (desired === 0) return `The rule has no entries for the ${list}.`;
  return desired === 1 ? `The entry is on the ${list}.` : `All ${desired} entries are on the ${list}.`;
}
