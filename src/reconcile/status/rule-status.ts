// The status of a WafIpRule, from the facts of a run.
import { formatTime } from "../../api/conditions.ts";
import type { WafIpRuleStatus } from "../../api/waf-ip-rule.ts";
import type { CompiledRule } from "../../plan/lists/compiled-rule.ts";
import type { RuleProgress } from "../../plan/instance/progress.ts";
import { ruleProgress } from "../../plan/instance/progress.ts";
import { describeCarved } from "../../plan/lists/compiled-rule.ts";
import type { RejectedEntry } from "../../plan/lists/rule-entries.ts";
import { shortened } from "../../model/sentence.ts";
import { assessRule } from "./assess-rule.ts";
import type { AcceptedFinding } from "./conditions.ts";
import { accepted, conditionsOf } from "./conditions.ts";
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

function progressOf(rule: CompiledRule, { observed, plan, inventory }: RunFacts): RuleProgress | undefined {
  if (observed === undefined || plan === undefined || inventory === undefined) return undefined;
  return ruleProgress(rule, observed, plan, inventory.entries);
}

function countsOf(rule: CompiledRule, progress: RuleProgress): Pick<WafIpRuleStatus, "entries" | "progress"> {
  const { desired, synced, pending, foreign, refused } = progress;
  return {
    entries: {
      desired,
      synced,
      pending,
      rejected: rule.rejected.length + refused.length,
      ...(rule.carved.length === 0 ? {} : { carved: rule.carved.length }),
      ...(foreign === 0 ? {} : { foreign }),
    },
    progress: rule.expired ? "expired" : `${synced}/${desired + rule.rejected.length}`,
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
