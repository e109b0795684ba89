// The statuses of a WafInstance, its rules and its origins, from the facts of a run. First that of the instance.
import { formatTime, asSentence, counted, shortened } from "../../model/texts.ts";
import type { NewConditions } from "../../kinds/conditions.ts";
import { durationInWords } from "../../kinds/durations.ts";
import { heldGroupsMax, type WafInstanceStatus } from "../../kinds/waf-instance.ts";
import { listNames, type ListName, unblockedAtMs } from "../../model/declared.ts";
import { operationKey } from "../../model/operation.ts";
import {
  accepted,
  type AcceptedFinding,
  forPerson,
  pendingFinding,
  reading,
  type SyncedFinding,
  troubleOf,
  waitingInWords,
  withFindings,
  unwrittenFinding,
  contestedMessage,
  heldGroups,
  heldMessage,
  keptMessage,
  overflowMessage,
  waitingRemovals,
  overflowSentence,
} from "./messages.ts";
import { type ListSummary, progressText, type RuleProgress } from "../../decide/progress.ts";
import type { Plan } from "../../decide/plan.ts";
import type { RunFacts } from "../facts.ts";
import { excerpt } from "../../model/redactor.ts";
import { describeSource } from "../../model/address-source.ts";
import type { WafIpRuleStatus } from "../../kinds/waf-ip-rule.ts";
import {
  type CompiledRule,
  describeRejected,
  faultsIn,
  isDerived,
  listedBy,
  type CompiledOrigin,
} from "../../decide/compiled-rule.ts";
import type { WafOriginStatus } from "../../kinds/waf-origin.ts";
import { adoptAnnotation } from "../../decide/ownership.ts";
import { sameHost } from "../../decide/origin-plan.ts";

const planExamplesMax = 10;

/** Returns the complete next status. Keeps former values for everything that the run could not determine. */
export function instanceStatus(before: Partial<WafInstanceStatus>, facts: RunFacts): Partial<WafInstanceStatus> {
  const { desired, nowMs, result } = facts;
  const assessment = {
    accepted: acceptInstance(facts),
    found: assessInstance(facts),
    others: stayingConditions(facts),
  };
  return {
    ...withFindings(before, facts.gathered.instance.meta, "Synced", assessment, nowMs),
    attachedRules: desired.rules.filter(({ isAttached, rule }) => isAttached && rule.meta.kind === "WafIpRule").length,
    attachedOrigins: desired.compiledOrigins.filter(({ isAttached }) => isAttached).length,
    ...(result?.kind === "Done" ? { lastSyncTime: formatTime(nowMs) } : {}),
    ...observedPart(before, facts),
  };
}

/** The conditions about what stays on the WAF. They keep their state while there is no plan. */
function stayingConditions({ plan, result, gathered }: RunFacts): NewConditions {
  if (result?.kind === "Blocked" && result.blocker === "InventoryUnreadable") {
    const message = "wafsync removes nothing until it can read its record.";
    return { RemovalsHeld: { status: "True", reason: "InventoryUnreadable", message } };
  }
  if (plan === undefined) return {};
  const { held, kept } = plan;
  const reason = held?.obstacle === undefined ? "TooManyRemovals" : obstacleReasons[held.obstacle.kind];
  const broken = { status: "True", reason: "SourceBroken", message: keptMessage({ plan }) } as const;
  return {
    RemovalsHeld: held && { status: "True", reason, message: heldMessage({ plan, gathered }) },
    SourceBroken: kept.length === 0 ? undefined : broken,
  };
}

const obstacleReasons = { Unconfirmed: "Unconfirmed", Restored: "InventoryUnreadable" } as const;

function observedPart(before: Partial<WafInstanceStatus>, facts: RunFacts): Partial<WafInstanceStatus> {
  const { observed, plan, inventory } = facts;
  if (observed === undefined || plan === undefined) return {};
  const { held, observedOnly, lists } = plan;
  const examples = observedOnly.slice(0, planExamplesMax).map(operationKey);
  const removals = observedOnly.filter(({ kind }) => kind === "RemoveEntry" || kind === "RemoveOrigin").length;
  return {
    domain: inventory?.domain ?? before.domain,
    primaryOrigin: observed.primaryOrigin,
    blocklist: listCounts(lists.blocklist),
    allowlist: listCounts(lists.allowlist),
    inventoryVersion: Math.max(before.inventoryVersion ?? 0, inventory?.version ?? 0),
    heldPlan: held?.hash,
    removalsOnHold: held && heldGroups(held).slice(0, heldGroupsMax),
    plan: observedOnly.length === 0 ? undefined : { additions: observedOnly.length - removals, removals, examples },
  };
}

/** Omits a zero: most lists have room for all entries. */
function listCounts({ overflow, ...counts }: ListSummary): NonNullable<WafInstanceStatus["blocklist"]> {
  return { ...counts, ...(overflow === 0 ? {} : { overflow }) };
}

function acceptInstance({ result, desired }: RunFacts): AcceptedFinding {
  const blocker = result?.kind === "Blocked" ? result.blocker : undefined;
  if (result?.kind === "Blocked" && (blocker === "DuplicateKey" || blocker === "BaseUrlNotAllowed")) {
    const reason = blocker === "DuplicateKey" ? "Conflict" : "NotAllowed";
    return { status: "False", reason, message: result.message };
  }
  if (desired.instanceFaults.length > 0) {
    return { status: "False", reason: "InvalidSpec", message: desired.instanceFaults.join(" ") };
  }
  return { ...accepted, message: "The instance is valid." };
}

/** The first that applies. */
function assessInstance(facts: RunFacts): SyncedFinding {
  const trouble = troubleOf(facts);
  if (trouble !== undefined) return trouble;
  const { plan, result, gathered } = facts;
  if (plan === undefined) return reading;
  if (result === undefined) {
    const message = `${counted(facts.pace?.left ?? 0, "change is", "changes are")} still to be written.${paceInWords(facts)}${waitingInWords(facts)}`;
    return pendingFinding(message);
  }
  if (gathered.instance.suspend) {
    const changes = counted(plan.observedOnly.length, "change waits", "changes wait");
    const message = `The instance is suspended; ${changes} for spec.suspend: false.`;
    return { status: "Unknown", reason: "Suspended", message, next: "Paused" };
  }
  if (plan.held !== undefined) return forPerson("Held", "Removals are on hold: see the condition RemovalsHeld.");
  if (plan.kept.length > 0) {
    const message = "wafsync keeps entries because something can't be read: see the condition SourceBroken.";
    return forPerson("SourceBroken", message);
  }
  const contested = contestedMessage(plan);
  if (contested !== "") return forPerson("Contested", contested);
  const refused = refusedMessage(plan);
  if (refused !== "") return forPerson("Rejected", refused);
  const overflow = overflowMessage(facts);
  if (overflow !== "") return forPerson("CapacityExceeded", overflow);
  if (plan.observedOnly.length > 0) {
    const changes = counted(plan.observedOnly.length, "change is", "changes are");
    const message = `Under the policy Observe, ${changes} not written: see status.plan.`;
    return { status: "False", reason: "Observed", message, next: "Settled" };
  }
  return { status: "True", reason: "Synced", message: syncedMessage(plan), next: "Settled" };
}

/** The rate of the run and the remaining time; empty until they are known. */
function paceInWords({ pace }: RunFacts): string {
  if (pace === undefined || pace.perSecond === 0 || pace.left === 0) return "";
  const perSecond = pace.perSecond >= 10 ? Math.round(pace.perSecond) : Number(pace.perSecond.toPrecision(2));
  return ` ${perSecond} calls per second, about ${durationInWords(pace.left / pace.perSecond)} left.`;
}

function syncedMessage({ lists, origins }: Plan): string {
  const [blocklist, allowlist] = listNames.map((list) => {
    const { live, managed, foreign } = lists[list];
    return `${list} ${live} (${managed} managed, ${foreign} unmanaged)`;
  });
  const waiting = [...origins.outcomes].filter(
    ([, { kind, insteadOf }]) => kind === "Primary" && insteadOf === "Remove",
  );
  const hosts = waiting.map(([host]) => host).join(", ");
  const primary =
    hosts === "" ? "" : ` Origin ${hosts} is the primary, and stays until another host becomes the primary.`;
  return `The WAF matches the declared state: ${blocklist}, ${allowlist}.${primary}`;
}

/** Empty if the API refused nothing. */
function refusedMessage(plan: Plan): string {
  const { outcomes, origins } = plan;
  const decided = [
    ...listNames.flatMap((list) => outcomes[list].map(({ outcome }) => outcome)),
    ...origins.outcomes.values(),
  ];
  const refusals = decided.flatMap((outcome) => outcome.refusals ?? []);
  const [first] = refusals;
  if (first === undefined) return "";
  const again = `wafsync retries ${refusals.length === 1 ? "it" : "them"} after an hour, or when the rule changes.`;
  const example = `${first.operation}: ${asSentence(first.message)}`;
  return `The API refused ${counted(refusals.length, "write", "writes")}. ${again} ${example}${waitingRemovals(plan)}`;
}

// The status of a WafIpRule, from the facts of a run.

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

// The status of a WafOrigin, from the facts of a run. It reports only what is known, because most origins can't be read back.

const messageLengthMax = 1024;
/** What to do if the API refused an origin that the WAF already has. */
export const adoptHint = `If the WAF already has it, annotate the WafOrigin with ${adoptAnnotation}: "true".`;

/** What is known of an origin, and what to report about it. */
interface Known {
  readonly state: NonNullable<WafOriginStatus["state"]>;
  readonly addedAtMs?: number | undefined;
  /** The API's error. */
  readonly message?: string;
  readonly finding: SyncedFinding;
}

export function originStatus(
  before: Partial<WafOriginStatus>,
  compiled: CompiledOrigin,
  facts: RunFacts,
): Partial<WafOriginStatus> {
  const { verdict, isAttached, message: fault, origin } = compiled;
  const isInEffect = isAttached && verdict !== "Conflict";
  const known = isInEffect ? knownOf(compiled, facts) : undefined;
  const found = isInEffect ? (troubleOf(facts) ?? known?.finding ?? reading) : notInEffect;
  const acceptance =
    verdict === "Accepted" ? accepted : ({ status: "False", reason: verdict, message: fault } as const);
  const common = withFindings(before, origin.meta, "Synced", { accepted: acceptance, found }, facts.nowMs);
  if (known === undefined) return common;
  const { state, addedAtMs, message } = known;
  return {
    ...common,
    state,
    addedTime: formatTime(addedAtMs),
    message: message === undefined ? undefined : shortened(message, messageLengthMax),
  };
}

const notInEffect = forPerson("Pending", "The origin is not in effect.");

/** Undefined until the WAF has been read. */
function knownOf({ origin }: CompiledOrigin, facts: RunFacts): Known | undefined {
  const { observed, plan, inventory } = facts;
  if (observed === undefined || plan === undefined || inventory === undefined) return undefined;
  const { host, type } = origin;
  const record = inventory.origins.get(host);
  const addedAtMs = record?.type === type ? record.addedAtMs : undefined;
  const as = `${host} as ${type === "Alternate" ? "an alternate" : "a backup"}`;
  const settled = (message: string): SyncedFinding => ({ status: "True", reason: "Synced", message, next: "Settled" });
  if (sameHost(host, observed.primaryOrigin)) {
    const finding = settled(
      `${host} is the WAF's current primary origin. To remove it, make another host the primary first.`,
    );
    return { state: "Primary", addedAtMs, finding };
  }
  const [refusal] = plan.origins.outcomes.get(host)?.refusals ?? [];
  if (refusal !== undefined) {
    const finding = forPerson("Rejected", `The API refused ${host}: ${asSentence(refusal.message)} ${adoptHint}`);
    return { state: "Rejected", message: refusal.message, finding };
  }
  if (record === undefined || addedAtMs === undefined) {
    return { state: "Pending", finding: unwrittenFinding("origins", `${host} is still to be added`, facts) };
  }
  const { unconfirmed, manner } = record;
  if (unconfirmed === undefined) {
    const finding = settled(`The API accepted ${as} at ${formatTime(addedAtMs)}. The origin can't be read back.`);
    return { state: "Added", addedAtMs, finding };
  }
  const why = manner === "Adopted" ? `${adoptAnnotation} says that it exists` : "an earlier call may have added it";
  const check = `Origins can't be read back: check it and its type in the WAF's own console. If it is missing, delete the WafOrigin and create it again.`;
  const finding = settled(
    `The API refused ${as}: ${asSentence(unconfirmed)} It counts as added, because ${why}. ${check}`,
  );
  return { state: "AddedUnconfirmed", addedAtMs, message: unconfirmed, finding };
}
