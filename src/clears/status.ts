// The status of a WafCacheClear, like that of a Job: `kubectl wait --for=condition=Complete` and kstatus both understand it.
//
//   Complete is True when the cache was cleared; Failed is True when wafsync has given up. With Complete, Ready is True. With
//   Failed, Ready is False and Stalled is True, because only a person can help. Until then, Ready is Unknown.
import { type Condition, formatTime, type NewCondition, setCondition } from "../kinds/conditions.ts";
import { formatDuration } from "../kinds/durations.ts";
import type { ConditionType, ReasonOf } from "../kinds/reasons.ts";
import type { WafCacheClearStatus } from "../kinds/waf-cache-clear.ts";
import type { DeclaredCacheClear } from "../model/declared.ts";
import { shortened } from "../model/sentence.ts";
import { decideAttachment } from "../model/attachment.ts";
import { type ClearRecord, currentRecord } from "./cache-clear.ts";
import { accepted, type AcceptedFinding, troubleOf } from "../run/status/findings.ts";
import type { RunFacts } from "../run/facts.ts";

const messageLengthMax = 1024;

interface ClearFinding {
  readonly state: keyof typeof completeReasons;
  readonly message: string;
}

const completeReasons = {
  Complete: "Cleared",
  Failed: "Failed",
  Suspended: "Suspended",
  Working: "Pending",
} as const satisfies Record<string, ReasonOf<"Complete">>;

/** Returns the complete next status. `known` is the record of the object, for any trigger. */
export function cacheClearStatus(
  before: Partial<WafCacheClearStatus>,
  clear: DeclaredCacheClear,
  known: ClearRecord | undefined,
  facts: RunFacts,
): Partial<WafCacheClearStatus> {
  const { generation } = clear.meta;
  const record = currentRecord(clear, known);
  const acceptance = acceptClear(clear, facts);
  const finding = assessClear(clear, record, acceptance, facts);
  return {
    ...before,
    observedGeneration: generation,
    conditions: [...conditionsOf(before.conditions ?? [], acceptance, finding, generation, facts.nowMs)],
    ...recordPart(record, finding),
  };
}

function recordPart(record: ClearRecord | undefined, finding: ClearFinding): Partial<WafCacheClearStatus> {
  const finish = record?.finish;
  const message = finish === undefined ? (record?.message ?? "") : finding.message;
  const isCleared = finish !== undefined && finish.state !== "Failed";
  return {
    startTime: timeText(record?.startedMs),
    completionTime: isCleared ? formatTime(finish.clearedAtMs) : undefined,
    duration: isCleared ? durationOf(record?.startedMs, finish.clearedAtMs) : undefined,
    attempts: record?.attempts,
    lastAttemptTime: timeText(record?.lastAttemptMs),
    message: message === "" ? undefined : shortened(message, messageLengthMax),
    lastTrigger: record === undefined || record.trigger === "" ? undefined : record.trigger,
    coalescedWith: finish?.state === "Coalesced" ? finish.with : undefined,
  };
}

function acceptClear({ meta }: DeclaredCacheClear, { gathered }: RunFacts): AcceptedFinding {
  const labels = gathered.namespaceLabels.get(meta.namespace);
  const attachment = decideAttachment(gathered.instance, "WafCacheClear", meta.namespace, labels);
  if (attachment.state === "Allowed") return accepted;
  return { status: "False", reason: "NotAllowed", message: attachment.message };
}

function assessClear(
  clear: DeclaredCacheClear,
  record: ClearRecord | undefined,
  acceptance: AcceptedFinding,
  facts: RunFacts,
): ClearFinding {
  const finish = record?.finish;
  switch (finish?.state) {
    case "Failed":
      return { state: "Failed", message: finish.message };
    case "Cleared":
      return { state: "Complete", message: "The API has started to clear the cache." };
    case "Coalesced":
      return {
        state: "Complete",
        message: `The call for ${finish.with} also cleared the cache for this object.`,
      };
    case "AlreadyHandled":
      return {
        state: "Complete",
        message: `An object with the same name handled this trigger at ${formatTime(finish.clearedAtMs)}, so the cache was not cleared again.`,
      };
    case undefined:
      return acceptance.status === "False"
        ? { state: "Working", message: "The object is not attached to its instance." }
        : assessUnfinished(clear, record, facts);
  }
}

function assessUnfinished(clear: DeclaredCacheClear, record: ClearRecord | undefined, facts: RunFacts): ClearFinding {
  if (clear.suspend) return { state: "Suspended", message: "Suspended by spec.suspend." };
  if (facts.gathered.instance.suspend) return { state: "Suspended", message: "The instance is suspended." };
  const trouble = troubleOf(facts);
  if (trouble !== undefined) return { state: "Working", message: trouble.message };
  if (record === undefined || record.lastAttemptMs === undefined) {
    return { state: "Working", message: "The clear starts after the WAF has been read." };
  }
  if (record.message !== "") return { state: "Working", message: `${record.message} wafsync retries.` };
  return { state: "Working", message: `Attempt ${record.attempts} is in progress.` };
}

function conditionsOf(
  before: readonly Condition[],
  acceptance: AcceptedFinding,
  finding: ClearFinding,
  observedGeneration: number,
  nowMs: number,
): readonly Condition[] {
  const { state, message } = finding;
  const found = { reason: completeReasons[state], message, observedGeneration } as const;
  const next: readonly NewCondition[] = [
    { type: "Accepted", ...acceptance, observedGeneration },
    { type: "Complete", status: state === "Complete" ? "True" : "False", ...found },
    ...resultOf(acceptance, finding, observedGeneration),
  ];
  const types = new Set<string>(next.map(({ type }) => type));
  return next
    .reduce((conditions, condition) => setCondition(conditions, condition, nowMs), before)
    .filter(({ type }) => types.has(type) || !abnormal.has(type));
}

/** Conditions that are present only in some states. */
const abnormal: ReadonlySet<string> = new Set<ConditionType>(["Failed", "Reconciling", "Stalled"]);

/** Reconciling while wafsync works or retries, and Stalled when only a person can help. A complete or suspended clear has neither. */
function resultOf(acceptance: AcceptedFinding, finding: ClearFinding, observedGeneration: number): NewCondition[] {
  const { state, message } = finding;
  const told = { message, observedGeneration };
  if (state === "Complete") return [{ type: "Ready", status: "True", reason: "Cleared", ...told }];
  if (state === "Failed") {
    const failed = { status: "True", reason: "Failed", ...told } as const;
    return [
      { type: "Failed", ...failed },
      { type: "Ready", ...failed, status: "False" },
      { type: "Stalled", ...failed },
    ];
  }
  if (acceptance.status === "False") {
    const rejected = { ...acceptance, observedGeneration };
    return [
      { type: "Ready", ...rejected },
      { type: "Stalled", ...rejected, status: "True" },
    ];
  }
  if (state === "Suspended") return [{ type: "Ready", status: "Unknown", reason: "Suspended", ...told }];
  const working = { status: "True", reason: "Pending", ...told } as const;
  return [
    { type: "Ready", ...working, status: "Unknown" },
    { type: "Reconciling", ...working },
  ];
}

/** In whole seconds, like the duration of a Job; undefined if the clear never started. */
function durationOf(startedMs: number | undefined, clearedMs: number): string | undefined {
  if (startedMs === undefined) return undefined;
  return formatDuration(Math.round((clearedMs - startedMs) / 1000) * 1000);
}

function timeText(timeMs: number | undefined): string | undefined {
  return timeMs === undefined ? undefined : formatTime(timeMs);
}
