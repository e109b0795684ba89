// The status of a WafCacheClear, like that of a Job: `kubectl wait --for=condition=Complete` and kstatus both understand it.
//
//   Complete is True when the cache was cleared; Failed is True when wafsync has given up. With Complete, Ready is True. With
//   Failed, Ready is False and Stalled is True, because only a person can help. Until then, Ready is Unknown.
import { formatTime } from "../model/time-text.ts";
import { seeReady } from "../kinds/conditions.ts";
import { formatDuration } from "../kinds/durations.ts";
import type { ReasonOf } from "../kinds/reasons.ts";
import type { WafCacheClearStatus } from "../kinds/waf-cache-clear.ts";
import type { Attachment } from "../model/attachment.ts";
import type { DeclaredCacheClear } from "../model/declared.ts";
import { shortened } from "../model/sentence.ts";
import { accepted, type Finding, forPerson, withFindings } from "../run/status/findings.ts";
import { type ClearRecord, currentRecord } from "./cache-clear.ts";

const messageLengthMax = 1024;

type ClearFinding = Finding<ReasonOf<"Complete">>;

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
  const record = currentRecord(clear, known);
  const isAttached = attachment.state === "Allowed";
  // A finished clear needs nothing from its instance.
  const isAccepted = isAttached || record?.finish !== undefined;
  const found = assessClear(clear, record, isAttached, scene);
  const assessment = {
    accepted: isAccepted ? accepted : ({ status: "False", reason: "NotAllowed", message: attachment.message } as const),
    found,
    others: {
      Failed:
        found.reason === "Failed" ? ({ status: "True", reason: "Failed", message: seeReady } as const) : undefined,
    },
  };
  return { ...withFindings(before, clear.meta, "Complete", assessment, scene.nowMs), ...recordPart(record, found) };
}

function recordPart(record: ClearRecord | undefined, finding: ClearFinding): Partial<WafCacheClearStatus> {
  const finish = record?.finish;
  const message = finish === undefined ? (record?.message ?? "") : finding.message;
  const isCleared = finish !== undefined && finish.state !== "Failed";
  return {
    startTime: formatTime(record?.startedMs),
    completionTime: isCleared ? formatTime(finish.clearedAtMs) : undefined,
    duration: isCleared ? durationOf(record?.startedMs, finish.clearedAtMs) : undefined,
    attempts: record?.attempts,
    lastAttemptTime: formatTime(record?.lastAttemptMs),
    message: message === "" ? undefined : shortened(message, messageLengthMax),
    lastTrigger: record === undefined || record.trigger === "" ? undefined : record.trigger,
    coalescedWith: isCleared ? finish.with : undefined,
  };
}

function assessClear(
  clear: DeclaredCacheClear,
  record: ClearRecord | undefined,
  isAttached: boolean,
  { instanceSuspended, trouble }: ClearScene,
): ClearFinding {
  const finish = record?.finish;
  if (finish?.state === "Failed") return forPerson("Failed", finish.message);
  if (finish !== undefined) {
    let message = "The API has started to clear the cache.";
    if (finish.with !== undefined) message = `The call for ${finish.with} also cleared the cache for this object.`;
    else if (record?.attempts === 0)
      message = `An object with the same name handled this trigger at ${formatTime(finish.clearedAtMs)}, so the cache was not cleared again.`;
    return { status: "True", reason: "Cleared", message, next: "Settled" };
  }
  if (!isAttached) return forPerson("Pending", "The object is not attached to its instance.");
  if (clear.suspend) return suspended("Suspended by spec.suspend.");
  if (instanceSuspended) return suspended("The instance is suspended.");
  if (trouble !== undefined) return working(trouble);
  if (record === undefined || record.lastAttemptMs === undefined) {
    return working("The clear starts after the WAF has been read.");
  }
  if (record.message !== "") return working(`${record.message} wafsync retries.`);
  return working(`Attempt ${record.attempts} is in progress.`);
}

function suspended(message: string): ClearFinding {
  return { status: "False", reason: "Suspended", message, next: "Paused" };
}

function working(message: string): ClearFinding {
  return { status: "False", reason: "Pending", message, next: "Working" };
}

/** In whole seconds, like the duration of a Job; undefined if the clear never started. */
function durationOf(startedMs: number | undefined, clearedMs: number): string | undefined {
  if (startedMs === undefined) return undefined;
  return formatDuration(Math.round((clearedMs - startedMs) / 1000) * 1000);
}
