// `wafsync report`: writes an HTML page about the blocked requests of a period. It only reads from the WAF.
import packageJson from "../../package.json" with { type: "json" };
import { realClock } from "../async/clock.ts";
import { listNames } from "../model/declared.ts";
import { counted } from "../model/sentence.ts";
import type { LogPlan } from "../plan/logs/retention.ts";
import { dayOf } from "../reconcile/logs/log-days.ts";
import { createWafClient } from "../waf/client.ts";
import { LaneRegistry } from "../waf/lane-registry.ts";
import { logFaultError } from "./logs/log-faults.ts";
import { describeRange, parseRange, retentionWarning } from "./logs/log-range.ts";
import { findLogSource } from "./logs/log-source.ts";
import type { LogSource, LogSourceOptions } from "./logs/log-source.ts";
import { LogWatch } from "./logs/log-watch.ts";
import { collectReport } from "./report/collect-report.ts";
import type { CollectedReport, ReportEnd, ReportQuestion } from "./report/collect-report.ts";
import { checkReportFile, writeReportFile } from "./report/report-file.ts";
import { assembleReport } from "./report/report-data.ts";
import { processLocks } from "./process-locks.ts";
import { StatusLine } from "./status-line.ts";
import { withStopSignals } from "./stop-signals.ts";
import { editedTerminal, terminalOn } from "./terminal.ts";

export interface ReportOptions extends LogSourceOptions {
  readonly since: string;
  readonly until: string;
  /** A file, or `-`. */
  readonly out: string;
  readonly top: number;
  readonly plan?: LogPlan;
  /** In seconds. */
  readonly timeout: number;
}

const standardOutput = "-";

/** @returns 0 if the report is complete, 1 if something is missing, 130 if stopped by a signal. @throws CommandError */
export async function runReport(options: ReportOptions): Promise<number> {
  const nowMs = realClock.nowMs();
  const range = parseRange(options.since, options.until, nowMs);
  if (options.out !== standardOutput) await checkReportFile(options.out);
  const source = await findLogSource(options);
  const { key } = source;
  const notes = editedTerminal(terminalOn(process.stderr), (text) => key.redact(text));
  const progress = new StatusLine(notes, realClock, { unit: "rows" });
  const watch = new LogWatch(notes, progress);
  const plan = options.plan ?? source.plan;
  const retention = plan && retentionWarning(plan, range.days, dayOf(nowMs));
  if (retention !== undefined) notes.line(`warning: ${retention}`);
  const question: ReportQuestion = { range, topMax: options.top };
  try {
    const end = await withStopSignals(
      async ({ stop }) => await collect(source, options.timeout * 1000, question, watch, stop),
    );
    progress.clear();
    if (end.state === "Failed") throw logFaultError(end.fault, source.declared);
    if (end.state === "Stopped") {
      notes.line("Stopped. No report was written.");
      return 130;
    }
    const unread = unreadIn(end);
    for (const text of unread) notes.line(`warning: ${text}`);
    const warnings = [retention, ...unread, ...watch.warnings].filter((text) => text !== undefined);
    await write(end, options, { source, period: describeRange(range), warnings, nowMs });
    const where = options.out === standardOutput ? "" : ` is in ${options.out}`;
    notes.line(`A report of ${counted(end.summary.total, "blocked request", "blocked requests")}${where}.`);
    return watch.isWhole && unread.length === 0 ? 0 : 1;
  } finally {
    progress.clear();
  }
}

function unreadIn(end: CollectedReport): string[] {
  return listNames.flatMap((list) => {
    const read = end[list];
    return read.ok ? [] : [`cannot read the ${list}: ${read.fault.message}`];
  });
}

async function collect(
  { baseUrl, key, minRequestIntervalMs }: LogSource,
  requestTimeoutMs: number,
  question: ReportQuestion,
  watch: LogWatch,
  stopping: AbortSignal,
): Promise<ReportEnd> {
  const clock = realClock;
  const registry = new LaneRegistry({ clock, locks: processLocks("wafsync report") });
  const lane = registry.acquire({ baseUrl, key, minRequestIntervalMs });
  const permit = () => ({ permitted: false, reason: "This command only reads." }) as const;
  const waf = createWafClient({ baseUrl, key, requestTimeoutMs, lane, permit, clock });
  try {
    const ports = { waf, clock, random: Math.random, stopping, onWait: watch.waiting };
    return await collectReport(ports, key, question, watch);
  } finally {
    await registry.close();
  }
}

interface Known {
  readonly source: LogSource;
  readonly period: string;
  readonly warnings: readonly string[];
  readonly nowMs: number;
}

async function write(end: CollectedReport, options: ReportOptions, known: Known): Promise<void> {
  const { source, period, warnings, nowMs } = known;
  const { from, out } = options;
  const { instance, key } = source;
  // The folder is only needed with -f, and the chart library only when there is something to draw.
  const folder =
    from === undefined || instance === undefined
      ? undefined
      : await import("./report/report-folder.ts").then(
          async ({ readReportFolder }) => await readReportFolder(options, from, instance, nowMs),
        );
  const data = assembleReport(end, {
    redact: (text) => key.redact(text),
    instance,
    folder,
    period,
    warnings,
    madeAtMs: realClock.nowMs(),
    version: packageJson.version,
  });
  const { reportPage } = await import("./report/report-page.ts");
  const page = reportPage(data);
  if (out === standardOutput) process.stdout.write(page);
  else await writeReportFile(out, page);
}
