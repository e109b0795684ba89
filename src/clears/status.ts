// The status of a WafCacheClear, like that of a Job: `kubectl wait --for=condition=Complete` and kstatus both understand it.
//
//   Complete is True when the cache was cleared; Failed is True when wafsync has given up. With Complete, Ready is True. With
//   Failed, Ready is False and Stalled is True, because only a person can help. Until then, Ready is Unknown.
import type { Condition, NewCondition } from "../api/conditions.ts";
import { formatTime, setCondition } from "../api/conditions.ts";
import { formatDuration } from "../api/durations.ts";
import type { ConditionType, ReasonOf } from "../api/reasons.ts";
import type { WafCacheClearStatus } from "../api/waf-cache-clear.ts";
import type { DeclaredCacheClear } from "../model/declared.ts";
import { shortened } from "../model/sentence.ts";
import { decideAttachment } from "../model/attachment.ts";
import type { ClearRecord } from "./cache-clear.ts";
import { currentRecord } from "./cache-clear.ts";
import { troubleOf } from "../reconcile/status/trouble.ts";
import type { AcceptedFinding } from "../reconcile/status/conditions.ts";
import { accepted } from "../reconcile/status/conditions.ts";
import type { RunFacts } from "../reconcile/facts.ts";

const messageLengthMax = 1024;

type CompleteReason = ReasonOf<"Complete">;

type ClearFinding =
  | {
      readonly state: "Complete";
      readonly reason: Extract<CompleteReason, "Cleared" | "Coalesced" | "AlreadyHandled">;
      readonly message: string;
    }
  | { readonly state: "Failed"; readonly reason: ReasonOf<"Failed">; readonly message: string }
  | { readonly state: "Waiting" | "Running" | "Retrying" | "Suspended"; readonly message: string };

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
  const reason = attachment.state === "NotGranted" ? "NotGranted" : "NotAllowed";
  return { status: "False", reason, message: attachment.message };
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
      return { state: "Failed", reason: finish.reason, message: finish.message };
    case "Cleared":
      return { state: "Complete", reason: "Cleared", message: "The API has started to clear the cache." };
    case "Coalesced":
      return {
        state: "Complete",
        reason: "Coalesced",
        message: `The call for ${finish.with} also cleared the cache for this object.`,
      };
    case "AlreadyHandled":
      return {
        state: "Complete",
        reason: "AlreadyHandled",
        message: `An object with the same name handled this trigger at ${formatTime(finish.clearedAtMs)}, so the cache was not cleared again.`,
      };
    case undefined:
      return acceptance.status === "False"
        ? { state: "Waiting", message: "The object is not attached to its instance." }
        : assessUnfinished(clear, record, facts);
  }
}

function assessUnfinished(clear: DeclaredCacheClear, record: ClearRecord | undefined, facts: RunFacts): ClearFinding {
  if (clear.suspend) return { state: "Suspended", message: "Suspended by spec.suspend." };
  if (facts.gathered.instance.suspend) return { state: "Suspended", message: "The instance is suspended." };
  const trouble = troubleOf(facts);
  if (trouble !== undefined) return { state: "Retrying", message: trouble.message };
  if (record === undefined || record.lastAttemptMs === undefined) {
    return { state: "Waiting", message: "The clear starts after the WAF has been read." };
  }
  if (record.message !== "") return { state: "Retrying", message: `${record.message} wafsync retries.` };
  return { state: "Running", message: `Attempt ${record.attempts} is in progress.` };
}

function conditionsOf(
  before: readonly Condition[],
  acceptance: AcceptedFinding,
  finding: ClearFinding,
  observedGeneration: number,
  nowMs: number,
): readonly Condition[] {
  const next: readonly NewCondition[] = [
    { type: "Accepted", ...acceptance, observedGeneration },
    { type: "Complete", ...completeOf(finding), message: finding.message, observedGeneration },
    ...resultOf(acceptance, finding, observedGeneration),
  ];
  const types = new Set<string>(next.map(({ type }) => type));
  return next
    .reduce((conditions, condition) => setCondition(conditions, condition, nowMs), before)
    .filter(({ type }) => types.has(type) || !abnormal.has(type));
}

/** Conditions that are present only in some states. */
const abnormal: ReadonlySet<string> = new Set<ConditionType>(["Failed", "Reconciling", "Stalled"]);

function completeOf(finding: ClearFinding) {
  if (finding.state === "Complete") return { status: "True", reason: finding.reason } as const;
  return { status: "False", reason: finding.state === "Retrying" ? "Running" : finding.state } as const;
}

/** Reconciling while wafsync works or retries, and Stalled when only a person can help. A complete or suspended clear has neither. */
function resultOf(acceptance: AcceptedFinding, finding: ClearFinding, observedGeneration: number): NewCondition[] {
  const { state } = finding;
  const told = { message: finding.message, observedGeneration };
  if (state === "Complete") return [{ type: "Ready", status: "True", reason: "Ready", ...told }];
  if (state === "Failed") {
    const failed = { status: "True", reason: finding.reason, ...told } as const;
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
  const reason = state === "Retrying" ? "ProgressingWithRetry" : "Progressing";
  return [
    { type: "Ready", status: "Unknown", reason: "Progressing", ...told },
    { type: "Reconciling", status: "True", reason, ...told },
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
