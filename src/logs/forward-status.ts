// What the status and the events of an instance say about its logs.
import { type Condition, findCondition, withConditions } from "../kinds/conditions.ts";
import { formatDuration } from "../kinds/durations.ts";
import type { ReasonOf } from "../kinds/reasons.ts";
import type { ResourceMeta } from "../model/resource.ts";
import { inThousands } from "../model/sentence.ts";
import { dayMs, formatDay, formatTime } from "../model/time-text.ts";
import type { WafFault } from "../model/waf-result.ts";
import { type ForwardMemory, type LogStatusPort, pagesPerHourMax, type StatusChange } from "./forward-ports.ts";

export type LogsReason = ReasonOf<"LogsForwarded">;

export interface LogsFinding {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: LogsReason;
  readonly message: string;
}

type Status = Parameters<StatusChange>[0];

export function faultFinding({ code, message }: WafFault): LogsFinding {
  return {
    status: "False",
    reason: code === "TooLarge" ? "TooLarge" : "ApiUnavailable",
    message: `${message} wafsync retries.`,
  };
}

/** Reports the finding: emits an event if a failure begins or ends, and writes the status if it exists. */
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
  const { lagMs } = memory;
  const { forwarded, lastEntryMs } = memory.figures;
  await status.update(instance, (current) => {
    if (findCondition(conditionsOf(current), "Ready") === undefined) return undefined;
    const old = current["logs"] as { readonly lag?: string } | undefined;
    const lag = lagMs === undefined ? old?.lag : formatDuration(Math.round(lagMs / 1000) * 1000);
    const logs = {
      ...(lastEntryMs === undefined ? {} : { lastEntryTime: formatTime(lastEntryMs) }),
      ...(lag === undefined ? {} : { lag }),
      forwarded,
    };
    const next = withConditions(conditionsOf(current), { LogsForwarded: finding }, instance.generation, nowMs);
    return { ...current, logs, conditions: next };
  });
}

/** Removes the report, because forwarding is off. */
export async function reportNoLogs(status: LogStatusPort, instance: ResourceMeta): Promise<void> {
  const before = status.read(instance) ?? {};
  if (before["logs"] === undefined && findCondition(conditionsOf(before), "LogsForwarded") === undefined) return;
  await status.update(instance, ({ logs: _logs, ...rest }) => ({ ...rest, conditions: otherConditions(rest) }));
}

/**
 * Returns the status of a reconcile run with the current report about logs, because the run may have started with an older status.
 */
export function keepLogPart(next: Status, current: Status): Status {
  const { logs: _former, ...rest } = next;
  const condition = findCondition(conditionsOf(current), "LogsForwarded");
  const conditions = otherConditions(next);
  return {
    ...rest,
    ...(current["logs"] === undefined ? {} : { logs: current["logs"] }),
    conditions: condition === undefined ? conditions : [...conditions, condition],
  };
}

function otherConditions(status: Status): readonly Condition[] {
  return conditionsOf(status).filter(({ type }) => type !== "LogsForwarded");
}

function conditionsOf(status: Status): readonly Condition[] {
  return (status["conditions"] ?? []) as readonly Condition[];
}

/** The instance forwards nothing until `untilMs`. The API keeps the rows that were not forwarded. */
export interface Resting {
  readonly kind: "Resting";
  readonly finding: LogsFinding;
  readonly untilMs: number;
}

const raise = "If the WAF really blocks this many requests, ask the administrator to raise --max-log-rows.";

/** The instance has reached a limit of its hour. */
export function restOfHour(untilMs: number, rowsMax: number): Resting {
  const limit = `${inThousands(rowsMax)} log rows were forwarded or ${inThousands(pagesPerHourMax)} pages were read within an hour`;
  const message = `Forwarding continues at ${formatTime(untilMs)}: ${limit}, which is the limit of one instance. The API keeps the other blocked requests until then. ${raise} If it does not, raise spec.logs.interval.`;
  return { kind: "Resting", finding: tooLarge(message), untilMs };
}

/** The day has more rows than are remembered, so it was closed, and its other rows are not forwarded. @param nowMs decides whether the next day has begun */
export function restOfDay(day: number, rowsMax: number, nowMs: number): Resting {
  const untilMs = Math.max(nowMs, (day + 1) * dayMs);
  const message = `${dayProblem(day, rowsMax)} Forwarding continues with ${formatDay(day + 1)}. ${raise}`;
  return { kind: "Resting", finding: tooLarge(message), untilMs };
}

/** The message for the event about a closed day. */
export function dayProblem(day: number, rowsMax: number): string {
  return `The logs of ${formatDay(day)} are too long: wafsync keeps track of at most ${inThousands(rowsMax)} rows of one instance. The other rows of this day are not forwarded. Use \`wafsync logs\` to read them.`;
}

function tooLarge(message: string): LogsFinding {
  return { status: "False", reason: "TooLarge", message };
}
