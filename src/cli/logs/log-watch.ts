// The way of `logs` and `report` into the logs of a WAF, and what users learn while they are read: progress, long waits, problems of
// the rows, and why reading failed.
import { setFlagsFromString } from "node:v8";
import { realClock } from "../../async/clock.ts";
import type { DeclaredInstance } from "../../model/declared.ts";
import type { WafFault, WafFaultCode } from "../../model/waf-result.ts";
import { logPlans } from "../../logs/log-days.ts";
import { dayDefects, type DaySummary } from "../../logs/day-reading.ts";
import { dayOf, formatDay } from "../../model/texts.ts";
import type { LogReaderPorts, LogWait } from "../../logs/read-logs.ts";
import { CommandError } from "../describe-error.ts";
import type { Session } from "../session.ts";
import { keyHint, type OpenedWaf, withWaf } from "../targets/open-target.ts";
import { StatusLine } from "../status-line.ts";
import type { Terminal } from "../terminal.ts";
import type { LogSourceOptions } from "../commands/waf-commands.ts";
import { type LogRange, retentionWarning } from "./log-range.ts";

interface LogWork {
  /** Shown by other processes that wait for this one. */
  readonly command: string;
  readonly range: LogRange;
  readonly nowMs: number;
  /** False if the rows themselves are printed on the terminal. */
  readonly showsProgress: boolean;
}

export interface OpenedLogs extends OpenedWaf {
  readonly ports: LogReaderPorts;
  readonly watch: LogWatch;
  /** A warning, which is already printed, if the plan does not keep all days of the range. */
  readonly retention: string | undefined;
}

/** Opens the WAF of the options for a command that reads its logs. @throws CommandError that says what to write instead */
export async function withLogs(
  options: LogSourceOptions,
  { command, range, nowMs, showsProgress }: LogWork,
  work: (opened: OpenedLogs, session: Session) => Promise<number>,
): Promise<number> {
  // By default, the space for short-lived objects grows with the rows of a page, to 90 MiB in all; they are gone before it pays.
  setFlagsFromString("--semi-space-growth-factor=1");
  const how = { command, requestTimeoutMs: options.timeout * 1000 };
  return await withWaf(options, how, async (opened, session) => {
    const { notes, stopping } = session;
    const progress = showsProgress ? new StatusLine(notes, realClock, { unit: "rows" }) : undefined;
    const watch = new LogWatch(notes, progress);
    const declared = opened.sight?.gathered.instance.logs.plan;
    const plan = options.plan ?? logPlans.find((one) => one === declared);
    const retention = plan && retentionWarning(plan, range.days, dayOf(nowMs));
    if (retention !== undefined) notes.remark("warning", retention);
    const { stop } = stopping();
    const ports = { waf: opened.waf, clock: realClock, random: Math.random, stopping: stop, onWait: watch.waiting };
    try {
      return await work({ ...opened, ports, watch, retention }, session);
    } finally {
      watch.clear();
    }
  });
}

/** Shorter waits are not shown: they would be over before anyone could read the message. */
const waitShownMsMin = 1_000;
/** Enough for two warnings on each day of a year. */
const warningsKeptMax = 730;

export class LogWatch {
  readonly #notes: Pick<Terminal, "line">;
  readonly #progress: StatusLine | undefined;
  readonly #warnings: string[] = [];

  /** @param progress undefined if the rows themselves are printed on the terminal */
  constructor(notes: Pick<Terminal, "line">, progress: StatusLine | undefined) {
    this.#notes = notes;
    this.#progress = progress;
  }

  /** Whether the API sent as many rows as it announced, and none was malformed. */
  get isWhole(): boolean {
    return this.#warnings.length === 0;
  }

  /** The missing and malformed rows, one sentence each. */
  get warnings(): readonly string[] {
    return this.#warnings;
  }

  expect(total: number): void {
    this.#progress?.expect(total);
  }

  rowsRead(rows: number, day: number): void {
    this.#progress?.advance(rows, { label: formatDay(day) });
  }

  readonly waiting = ({ why, delayMs }: LogWait): void => {
    if (delayMs < waitShownMsMin) return;
    const text = `${why.message} Retrying in ${Math.ceil(delayMs / 1000)} s.`;
    if (this.#progress === undefined) this.#notes.line(text);
    else this.#progress.wait(text);
  };

  dayDone(day: number, summary: DaySummary): void {
    for (const text of dayDefects(day, summary)) this.#warn(text);
  }

  /** With --follow: a read failed, and the next poll retries it. */
  failed(fault: WafFault): void {
    this.line(`warning: ${fault.message} Retrying at the next poll.`);
  }

  /** Removes the progress from the terminal. */
  clear(): void {
    this.#progress?.clear();
  }

  line(text: string): void {
    this.clear();
    this.#notes.line(text);
  }

  #warn(text: string): void {
    if (this.#warnings.length < warningsKeptMax) this.#warnings.push(text);
    this.line(`warning: ${text}`);
  }
}

const hints: Readonly<Partial<Record<WafFaultCode, string>>> = {
  BadApiKey: "Check the key in WAFSYNC_API_KEY or the key file, and that it belongs to this base URL.",
  NotFound: "The API key is valid, but its account has no WAF: use the key of the account that has the WAF.",
  Rejected:
    "wafsync checked the dates by the API's published rules, which may have changed. Try a shorter range that ends yesterday.",
  ContractBroken: "Check that --base-url is the address of the API, without /api at the end.",
  TooLarge: "Set a smaller --page-size.",
  Unavailable: "Try again later: with --out FILE, --resume continues where the download stopped.",
  TimedOut: "Try again later, with a larger --timeout or a smaller --page-size.",
  RateLimited: "Try again later: with --out FILE, --resume continues where the download stopped.",
};

/** A permanently failed call for logs as an error that says what users can do. @param declared the instance that declares the WAF; undefined if options do */
export function logFaultError(fault: WafFault, declared: DeclaredInstance | undefined): CommandError {
  const message =
    fault.code === "Rejected" || fault.code === "NotFound"
      ? `the WAF refuses to return logs (${fault.status}): ${fault.message}`
      : fault.message;
  const hint = (declared === undefined ? undefined : keyHint(fault, declared)) ?? hints[fault.code];
  return new CommandError(`cannot read the logs: ${message}`, hint);
}
