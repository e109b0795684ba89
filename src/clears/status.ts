// The status of a WafCacheClear, like that of a Job: `kubectl wait --for=condition=Complete` and kstatus both understand it.
//
//   Complete is True when the cache was cleared; Failed is True when wafsync has given up. With Complete, Ready is True. With
//   Failed, Ready is False and Stalled is True, because only a person can help. Until then, Ready is Unknown.
import { formatTime } from "../model/time-text.ts";
import { type NewConditions, seeReady, withConditions } from "../kinds/conditions.ts";
import { formatDuration } from "../kinds/durations.ts";
import type { ReasonOf } from "../kinds/reasons.ts";
import type { WafCacheClearStatus } from "../kinds/waf-cache-clear.ts";
import type { Attachment } from "../model/attachment.ts";
import type { DeclaredCacheClear } from "../model/declared.ts";
import { shortened } from "../model/sentence.ts";
import { accepted, type AcceptedFinding } from "../run/status/findings.ts";
import { type ClearRecord, currentRecord } from "./cache-clear.ts";

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

/** What all clears of an instance have in common. */
export interface ClearScene {
  readonly instanceSuspended: boolean;
  /** What troubles the whole instance, as a sentence. */
  readonly trouble: string | undefined;
  readonly nowMs: number;
}

/** Returns the complete next status. `known` is the record of the object, for any trigger. */
export function cacheClearStatus(
  before: Partial<WafCacheClearStatus>,
  clear: DeclaredCacheClear,
  known: ClearRecord | undefined,
  attachment: Attachment,
  scene: ClearScene,
): Partial<WafCacheClearStatus> {
  const { generation } = clear.meta;
  const record = currentRecord(clear, known);
  const isAttached = attachment.state === "Allowed";
  const acceptance = isAttached
    ? accepted
    : ({ status: "False", reason: "NotAllowed", message: attachment.message } as const);
  const finding = assessClear(clear, record, isAttached, scene);
  const conditions = withConditions(
    before.conditions ?? [],
    conditionsOf(acceptance, finding),
    generation,
    scene.nowMs,
  );
  return { ...before, observedGeneration: generation, conditions: [...conditions], ...recordPart(record, finding) };
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

function assessClear(
  clear: DeclaredCacheClear,
  record: ClearRecord | undefined,
  isAttached: boolean,
  { instanceSuspended, trouble }: ClearScene,
): ClearFinding {
  const finish = record?.finish;
  switch (finish?.state) {
    case "Failed":
      return { state: "Failed", message: finish.message };
    case "Cleared":
      return { state: "Complete", message: "The API has started to clear the cache." };
    case "Coalesced":
      return { state: "Complete", message: `The call for ${finish.with} also cleared the cache for this object.` };
    case "AlreadyHandled": {
      const message = `An object with the same name handled this trigger at ${formatTime(finish.clearedAtMs)}, so the cache was not cleared again.`;
      return { state: "Complete", message };
    }
    case undefined:
  }
  if (!isAttached) return { state: "Working", message: "The object is not attached to its instance." };
  if (clear.suspend) return { state: "Suspended", message: "Suspended by spec.suspend." };
  if (instanceSuspended) return { state: "Suspended", message: "The instance is suspended." };
  if (trouble !== undefined) return { state: "Working", message: trouble };
  if (record === undefined || record.lastAttemptMs === undefined) {
    return { state: "Working", message: "The clear starts after the WAF has been read." };
  }
  if (record.message !== "") return { state: "Working", message: `${record.message} wafsync retries.` };
  return { state: "Working", message: `Attempt ${record.attempts} is in progress.` };
}

/** Reconciling while wafsync works or retries, and Stalled when only a person can help. A complete or suspended clear has neither. */
function conditionsOf(acceptance: AcceptedFinding, { state, message }: ClearFinding): NewConditions {
  const reason = completeReasons[state];
  const isOver = state === "Complete" || state === "Failed";
  const isRejected = acceptance.status === "False" && !isOver;
  const failed = state === "Failed" ? ({ status: "True", reason: "Failed", message: seeReady } as const) : undefined;
  const rejected = isRejected ? ({ ...acceptance, status: "True", message: seeReady } as const) : undefined;
  const isWorking = state === "Working" && !isRejected;
  return {
    Accepted: isRejected ? { ...acceptance, message: seeReady } : acceptance,
    Complete: { status: state === "Complete" ? "True" : "False", reason, message: isRejected ? message : seeReady },
    Failed: failed,
    Ready: isRejected ? acceptance : { status: readyStatuses[state], reason, message },
    Reconciling: isWorking ? { status: "True", reason: "Pending", message: seeReady } : undefined,
    Stalled: failed ?? rejected,
  };
}

const readyStatuses = { Complete: "True", Failed: "False", Suspended: "Unknown", Working: "Unknown" } as const;

/** In whole seconds, like the duration of a Job; undefined if the clear never started. */
function durationOf(startedMs: number | undefined, clearedMs: number): string | undefined {
  if (startedMs === undefined) return undefined;
  return formatDuration(Math.round((clearedMs - startedMs) / 1000) * 1000);
}

function timeText(timeMs: number | undefined): string | undefined {
  return timeMs === undefined ? undefined : formatTime(timeMs);
}
