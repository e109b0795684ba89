// The status of a WafCacheClear, like that of a Job: `kubectl wait --for=condition=Complete` and kstatus both understand it.
//
//   Complete is True when the cache was cleared; Failed is True when wafsync has given up. With Complete, Ready is True. With
//   Failed, Ready is False and Stalled is True, because only a person can help. Until then, Ready is Unknown.
import type { Condition } from "../../api/conditions.ts";
import { formatTime, removeCondition, setCondition } from "../../api/conditions.ts";
import { formatDuration } from "../../api/durations.ts";
import type { ReasonOf } from "../../api/reasons.ts";
import type { WafCacheClearStatus } from "../../api/waf-cache-clear.ts";
import type { DeclaredCacheClear } from "../../model/declared.ts";
import { shortened } from "../../model/sentence.ts";
import { decideAttachment } from "../../model/attachment.ts";
import type { ClearRecord } from "../../plan/cache-clear/cache-clear.ts";
import { currentRecord } from "../../plan/cache-clear/cache-clear.ts";
import { troubleOf } from "../status/trouble.ts";
import type { AcceptedFinding } from "../status/conditions.ts";
import { accepted } from "../status/conditions.ts";
import type { RunFacts } from "../facts.ts";

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
  const common = { message: finding.message, observedGeneration };
  let conditions = setCondition(before, { type: "Accepted", ...acceptance, observedGeneration }, nowMs);
  conditions = setCondition(conditions, { type: "Complete", ...completeOf(finding), ...common }, nowMs);
  conditions =
    finding.state === "Failed"
      ? setCondition(conditions, { type: "Failed", status: "True", reason: finding.reason, ...common }, nowMs)
      : removeCondition(conditions, "Failed");
  conditions = setCondition(conditions, { type: "Ready", ...readyOf(acceptance, finding), observedGeneration }, nowMs);
  return withProgress(conditions, acceptance, finding, observedGeneration, nowMs);
}

function completeOf(finding: ClearFinding) {
  if (finding.state === "Complete") return { status: "True", reason: finding.reason } as const;
  return { status: "False", reason: finding.state === "Retrying" ? "Running" : finding.state } as const;
}

function readyOf(acceptance: AcceptedFinding, finding: ClearFinding) {
  const { message } = finding;
  if (finding.state === "Complete") return { status: "True", reason: "Ready", message } as const;
  if (finding.state === "Failed") return { status: "False", reason: finding.reason, message } as const;
  if (acceptance.status === "False") {
    return { status: "False", reason: acceptance.reason, message: acceptance.message } as const;
  }
  if (finding.state === "Suspended") return { status: "Unknown", reason: "Suspended", message } as const;
  return { status: "Unknown", reason: "Progressing", message } as const;
}

/** Sets Reconciling while wafsync works or retries, and Stalled when only a person can help. A complete or suspended clear has neither. */
function withProgress(
  before: readonly Condition[],
  acceptance: AcceptedFinding,
  finding: ClearFinding,
  observedGeneration: number,
  nowMs: number,
): readonly Condition[] {
  const common = { status: "True", observedGeneration } as const;
  const { state, message } = finding;
  if (state === "Failed") {
    const conditions = removeCondition(before, "Reconciling");
    return setCondition(conditions, { type: "Stalled", ...common, reason: finding.reason, message }, nowMs);
  }
  if (state !== "Complete" && acceptance.status === "False") {
    const conditions = removeCondition(before, "Reconciling");
    const { reason, message } = acceptance;
    return setCondition(conditions, { type: "Stalled", ...common, reason, message }, nowMs);
  }
  const conditions = removeCondition(before, "Stalled");
  if (state === "Complete" || state === "Suspended") return removeCondition(conditions, "Reconciling");
  const reason = state === "Retrying" ? "ProgressingWithRetry" : "Progressing";
  return setCondition(conditions, { type: "Reconciling", ...common, reason, message }, nowMs);
}

/** In whole seconds, like the duration of a Job; undefined if the clear never started. */
function durationOf(startedMs: number | undefined, clearedMs: number): string | undefined {
  if (startedMs === undefined) return undefined;
  return formatDuration(Math.round((clearedMs - startedMs) / 1000) * 1000);
}

function timeText(timeMs: number | undefined): string | undefined {
  return timeMs === undefined ? undefined : formatTime(timeMs);
}
