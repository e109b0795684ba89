// What the status and the events of an instance say about its logs.
import { type Condition, findCondition, withConditions } from "../kinds/conditions.ts";
import { formatDuration } from "../kinds/durations.ts";
import type { ReasonOf } from "../kinds/reasons.ts";
import type { ResourceMeta, ObjectName } from "../model/resource.ts";
import { inThousands, dayMs, formatDay, formatTime, hourMs } from "../model/texts.ts";
import type { WafFault, LogPort } from "../model/waf-result.ts";
import type { Clock } from "../async/clock.ts";
import type { ApiKey } from "../model/api-key.ts";
import type { DeclaredInstance, LogForwarding } from "../model/declared.ts";
import type { BlockBook } from "../blocks/block-book.ts";
import type { Gathered } from "../model/gathered.ts";
import type { LogEntry } from "../model/log-entry.ts";
import type { SourcePort, StatusPort } from "../run/ports.ts";
import type { LogCursor } from "./cursor.ts";
import type { LogRecord, LogRecordPort } from "./log-records.ts";

export type LogsReason = ReasonOf<"LogsForwarded">;

export interface LogsFinding {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: LogsReason;
  readonly message: string;
}

type Status = Readonly<Record<string, unknown>>;

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

// The ports of log forwarding, and what the process remembers about one instance between two runs.

/** Where an entry comes from. */
export interface LogOrigin {
  readonly instance: ObjectName;
  /** The domain that the key belongs to, if it is known. */
  readonly domain: string | undefined;
}

/** The destination of entries. */
export interface LogOutputPort {
  /** @returns undefined if all entries were accepted; otherwise the reason, as a sentence, and no entry counts as forwarded. Never rejects. */
  write(origin: LogOrigin, entries: readonly LogEntry[]): Promise<string | undefined>;
}

/** Returns the status that replaces the current one, or undefined to leave it unchanged. */
type StatusChange = (status: Status) => Status | undefined;

export interface LogStatusPort extends Pick<StatusPort, "read" | "event"> {
  /** Changes only the part that `change` sets, independent of other writers. Never rejects. Returns why it could not, if so. */
  update(instance: ResourceMeta, change: StatusChange): Promise<string | void>;
}

/** What metrics count: the label of the reason, and the country. */
type CountedRow = readonly [label: string, country: string | null];

export interface ForwardLogsPorts {
  readonly source: Pick<SourcePort, "gather">;
  /** Why the operator may not call this base URL, in a sentence; undefined if it may. */
  readonly baseUrlObjection: (baseUrl: string) => string | undefined;
  /** The domain of the instance's key; undefined until a reconcile run has read it, or could not. */
  readonly domainOf: (instance: ObjectName) => { readonly domain: string | undefined } | undefined;
  readonly openLogs: (instance: DeclaredInstance, key: ApiKey) => LogPort;
  /** Undefined if logs are only judged: in a directory, `wafsync logs` prints them. */
  readonly outputOf: ((output: LogForwarding["output"]) => LogOutputPort) | undefined;
  readonly records: LogRecordPort;
  readonly blocks: Pick<BlockBook, "publish" | "report">;
  /** Of one instance, per hour and of all days that are still read: `--max-log-rows`. */
  readonly rowsMax?: number | undefined;
  readonly status: LogStatusPort;
  readonly clock: Clock;
  /** A number of at least 0 and less than 1. */
  readonly random: () => number;
  /** Whether this process may forward; called before each write to the output. */
  readonly mayForward: () => boolean;
  readonly stopping: AbortSignal;
  /** For metrics and logs. Must not throw. */
  readonly observer: {
    forwarded?(gathered: Gathered, rows: readonly CountedRow[], output: LogForwarding["output"]): void;
    /** How long after its time the newest entry was forwarded. */
    lagged?(instance: ObjectName, lagMs: number): void;
    /** How many rows are remembered after a run, or 0 once forwarding is off. */
    remembered?(instance: ObjectName, rows: number): void;
    failed?(instance: ObjectName, reason: string, fault: WafFault | undefined): void;
  };
}

/** The destination of the instance's entries; undefined if they are not forwarded. */
export function outputFor({ outputOf }: ForwardLogsPorts, { enabled, output }: LogForwarding) {
  return enabled ? outputOf?.(output) : undefined;
}

export const noFigures: Omit<LogRecord, "cursor"> = { forwarded: 0, judges: {} };

/** Kept while forwarding is off, so that turning it off and on does not reset the limits. */
export class ForwardMemory {
  readonly usage = new HourUsage();
  /** Of the instance that it belongs to. */
  uid: string | undefined;
  /** Undefined until it is loaded, and after another writer has saved it. */
  cursor: LogCursor | undefined;
  /** What is recorded with the cursor: the judges have judged the same rows that it includes. */
  figures: Omit<LogRecord, "cursor"> = noFigures;
  revision = "";
  lagMs: number | undefined;
  /** Whether the cursor is ahead of its record. */
  isUnsaved = false;
  /** By the monotonic clock. */
  savedAtMs = Number.NEGATIVE_INFINITY;
  /** The number of consecutive failed runs. */
  failures = 0;
  /** When (monotonic) the next run is due. A run for a different `attempt` is due immediately. */
  due: { readonly atMs: number; readonly attempt: string } | undefined;
  /** The messages of the last events. */
  readonly emitted = new Set<string>();
}

export const rowsMaxDefault = 1_000_000;
/** Pages per hour, with or without new rows: 833 in each run with the default interval of 5 minutes. */
export const pagesPerHourMax = 10_000;

/** The rows that one instance forwarded, and the pages that it read, in an hour that begins with the first of them. */
export class HourUsage {
  #startMs = Number.NEGATIVE_INFINITY;
  #rows = 0;
  #pages = 0;

  rowsLeft(nowMs: number, rowsMax: number): number {
    this.#begin(nowMs);
    return Math.max(0, rowsMax - this.#rows);
  }

  rowsForwarded(nowMs: number, count: number): void {
    this.#begin(nowMs);
    this.#rows += count;
  }

  /** @returns whether another page may be read; if so, it is counted */
  takePage(nowMs: number): boolean {
    this.#begin(nowMs);
    if (this.#pages >= pagesPerHourMax) return false;
    this.#pages += 1;
    return true;
  }

  /** When the next hour begins; undefined while no limit is reached. */
  endOf(nowMs: number, rowsMax: number): number | undefined {
    this.#begin(nowMs);
    return this.#rows >= rowsMax || this.#pages >= pagesPerHourMax ? this.#startMs + hourMs : undefined;
  }

  /** After a clock was set back, a new hour begins, so that the limit does not last longer because of that. */
  #begin(nowMs: number): void {
    if (nowMs >= this.#startMs && nowMs < this.#startMs + hourMs) return;
    this.#startMs = nowMs;
    this.#rows = 0;
    this.#pages = 0;
  }
}
