// The part of an instance's status and events about log forwarding.
import { findCondition, formatTime, removeCondition, setCondition } from "../../api/conditions.ts";
import type { Condition } from "../../api/conditions.ts";
import { formatDuration } from "../../api/durations.ts";
import type { ReasonOf } from "../../api/reasons.ts";
import type { ResourceMeta } from "../../model/resource.ts";
import type { WafFault, WafFaultCode } from "../../model/waf-result.ts";
import type { ForwardMemory, LogStatusPort, StatusChange } from "./forward-ports.ts";

export type LogsReason = ReasonOf<"LogsForwarded">;

export interface LogsFinding {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: LogsReason;
  readonly message: string;
}

type Status = Parameters<StatusChange>[0];

const reasonOfFault: Readonly<Record<WafFaultCode, LogsReason>> = {
  BadApiKey: "BadApiKey",
  MissingApiKey: "MissingApiKey",
  Rejected: "Rejected",
  NotFound: "NoWaf",
  RateLimited: "RateLimited",
  Unavailable: "ApiUnavailable",
  TimedOut: "ApiUnavailable",
  OutcomeUnknown: "ApiUnavailable",
  ContractBroken: "UnexpectedAnswer",
  TooLarge: "TooLarge",
  Aborted: "ApiUnavailable",
  NotPermitted: "ApiUnavailable",
};

export function faultFinding({ code, message }: WafFault): LogsFinding {
  return { status: "False", reason: reasonOfFault[code], message: `${message} wafsync retries.` };
}

/** Reports the finding: emits an event if a failure begins or ends, and writes the status as soon as it exists. */
export async function reportLogs(
  status: LogStatusPort,
  instance: ResourceMeta,
  memory: ForwardMemory,
  finding: LogsFinding,
  nowMs: number,
): Promise<void> {
  const before = findCondition(conditionsOf(status.read(instance) ?? {}), "LogsForwarded");
  if (finding.status === "False" && (before?.status !== "False" || before.reason !== finding.reason)) {
    status.event(instance, { type: "Warning", reason: "LogForwardingFailed", message: finding.message });
  }
  if (finding.status === "True" && before?.status === "False") {
    const message = "Blocked requests are forwarded again.";
    status.event(instance, { type: "Normal", reason: "LogForwardingRecovered", message });
  }
  const { forwarded, lastEntryMs, lagMs } = memory;
  memory.report = (current) => {
    const conditions = conditionsOf(current);
    const old = current["logs"] as { readonly lag?: string } | undefined;
    const lag = lagMs === undefined ? old?.lag : formatDuration(Math.round(lagMs / 1000) * 1000);
    const logs = {
      ...(lastEntryMs === undefined ? {} : { lastEntryTime: formatTime(lastEntryMs) }),
      ...(lag === undefined ? {} : { lag }),
      forwarded,
    };
    const next = { type: "LogsForwarded", ...finding, observedGeneration: instance.generation } as const;
    return { ...current, logs, conditions: setCondition(conditions, next, nowMs) };
  };
  await writeReport(status, instance, memory);
}

/** Removes the report, because forwarding is off. */
export async function reportNoLogs(
  status: LogStatusPort,
  instance: ResourceMeta,
  memory: ForwardMemory,
): Promise<void> {
  const before = status.read(instance) ?? {};
  memory.report = undefined;
  if (before["logs"] === undefined && findCondition(conditionsOf(before), "LogsForwarded") === undefined) return;
  memory.report = ({ logs: _logs, ...rest }) => ({
    ...rest,
    conditions: removeCondition(conditionsOf(rest), "LogsForwarded"),
  });
  await writeReport(status, instance, memory);
}

/** Writes the pending report. The first reconcile run creates the status, including `Ready`; until then, the report waits. */
export async function writeReport(status: LogStatusPort, instance: ResourceMeta, memory: ForwardMemory): Promise<void> {
  const { report } = memory;
  if (report === undefined) return;
  let isWritten = false;
  await status.update(instance, (current) => {
    if (findCondition(conditionsOf(current), "Ready") === undefined) return undefined;
    isWritten = true;
    return report(current);
  });
  if (isWritten && memory.report === report) memory.report = undefined;
}

/**
 * Returns the status of a reconcile run with the current report about logs, because the run may have started with an older status.
 */
export function keepLogPart(next: Status, current: Status): Status {
  const { logs: _former, ...rest } = next;
  const condition = findCondition(conditionsOf(current), "LogsForwarded");
  const conditions = removeCondition(conditionsOf(next), "LogsForwarded");
  return {
    ...rest,
    ...(current["logs"] === undefined ? {} : { logs: current["logs"] }),
    conditions: condition === undefined ? conditions : [...conditions, condition],
  };
}

function conditionsOf(status: Status): readonly Condition[] {
  return (status["conditions"] ?? []) as readonly Condition[];
}
