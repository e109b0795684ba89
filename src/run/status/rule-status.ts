// The status of a WafIpRule, from the facts of a run.
import { formatTime } from "../../kinds/conditions.ts";
import type { WafIpRuleStatus } from "../../kinds/waf-ip-rule.ts";
import type { Gathered, GatheredRule } from "../../model/gathered.ts";
import type { ResourceMeta } from "../../model/resource.ts";
import { ruleIdOf } from "../../model/rule-id.ts";
import type { CompiledRule } from "../../decide/compiled-rule.ts";
import type { RuleProgress } from "../../decide/progress.ts";
import { progressText, ruleProgress } from "../../decide/progress.ts";
import { describeRejected, faultsIn } from "../../decide/compiled-rule.ts";
import type { RejectedEntry } from "../../decide/rule-entries.ts";
import { shortened } from "../../model/sentence.ts";
import { assessRule } from "./assess-rule.ts";
import type { AcceptedFinding } from "./conditions.ts";
import { accepted, conditionsOf } from "./conditions.ts";
import type { RunFacts } from "../facts.ts";

const entriesShownMax = 20;
const sourcesShownMax = 10;
const sourcesBytesMax = 1_500;
const entryLengthMax = 128;
const sourceLengthMax = 512;
const messageLengthMax = 1024;
/** A status must stay readable: with long entries, sources and messages, fewer entries are shown. */
const entriesBytesMax = 6_000;
/** At least one entry is always shown. */
const entriesBytesMin = 2_000;
const entriesAndConditionsBytesMax = 7_500;

type SourceStates = WafIpRuleStatus["sources"];

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
  const bytesLeft = entriesAndConditionsBytesMax - bytesOf(conditions);
  const shown = shownEntries(rule, progress, bytesLeft);
  return {
    ...before,
    observedGeneration: meta.generation,
    conditions: [...conditions],
    ...shown,
    sources: shownSources(rule, facts, bytesLeft - bytesOf(shown)),
    expiresAt: rule.expiresAtMs === undefined ? undefined : formatTime(rule.expiresAtMs),
    ...(lastChangeMs === undefined ? {} : { lastChangeTime: formatTime(lastChangeMs) }),
    ...(progress === undefined ? {} : countsOf(rule, progress)),
  };
}

function progressOf(rule: CompiledRule, { observed, plan, inventory }: RunFacts): RuleProgress | undefined {
  if (observed === undefined || plan === undefined || inventory === undefined) return undefined;
  return ruleProgress(rule, observed, plan, inventory.entries);
}

function countsOf(rule: CompiledRule, progress: RuleProgress): Pick<WafIpRuleStatus, "entries" | "progress"> {
  const { desired, synced, pending, foreign, refused, leftOut } = progress;
  return {
    entries: {
      desired,
      synced,
      pending,
      rejected: rule.rejected.length + refused.length,
      ...(rule.declared === undefined || rule.expired ? {} : { declared: rule.declared }),
      ...(foreign === 0 ? {} : { foreign }),
      ...(leftOut.length === 0 ? {} : { overflow: leftOut.length }),
    },
    progress: progressText(rule, progress),
  };
}

/** Rejected entries come first, because a person has to correct them. Those of feeds come last. */
function shownEntries(
  rule: CompiledRule,
  progress: RuleProgress | undefined,
  bytesLeft: number,
): Pick<WafIpRuleStatus, "rejected"> {
  const bytesMax = Math.max(entriesBytesMin, Math.min(entriesBytesMax, bytesLeft));
  const refused = (progress?.refused ?? []).map(({ entry, message }) => ({ entry, source: "the WAF's API", message }));
  const ofFeeds = rule.rejected.filter(({ isOfFeed }) => isOfFeed === true);
  return { rejected: firstEntries([...faultsIn(rule.rejected), ...refused, ...ofFeeds], bytesMax) };
}

/** Returns as many sources as fit. */
function shownSources({ rule, parts }: CompiledRule, { gathered }: RunFacts, bytesLeft: number): SourceStates {
  if (rule.addressesFrom.length === 0) return undefined;
  const { texts = [] } = gatheredRule(gathered, rule.meta) ?? {};
  const shown: NonNullable<SourceStates> = [];
  let bytes = 0;
  for (const [index, { kind, name, key }] of rule.addressesFrom.slice(0, sourcesShownMax).entries()) {
    const text = texts[index];
    const state = {
      [kind === "Secret" ? "secret" : "configMap"]: name,
      key,
      ...(text?.state === "Read" ? { entries: entriesOf(parts, text.source) } : {}),
    };
    bytes += bytesOf(state);
    if (bytes > Math.min(sourcesBytesMax, bytesLeft)) break;
    shown.push(state);
  }
  return shown.length === 0 ? undefined : shown;
}

function entriesOf(parts: CompiledRule["parts"], source: string): number {
  return parts.find((part) => part.source === source)?.entries.size ?? 0;
}

/** A cache for the lookups of one report, one for each rule. */
const gatheredRules = new WeakMap<Gathered, ReadonlyMap<string, GatheredRule>>();

function gatheredRule(gathered: Gathered, meta: ResourceMeta): GatheredRule | undefined {
  const known = gatheredRules.get(gathered) ?? new Map(gathered.rules.map((one) => [ruleIdOf(one.rule.meta), one]));
  gatheredRules.set(gathered, known);
  return known.get(ruleIdOf(meta));
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
  if (rule.verdict === "Accepted") {
    // If the rule is accepted, only entries of feeds can be rejected.
    return rule.rejected.length === 0 ? accepted : { ...accepted, message: describeRejected(rule.rejected) };
  }
  return { status: "False", reason: rule.verdict, message: rule.message };
}
