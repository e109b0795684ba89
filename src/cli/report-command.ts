// `wafsync report`: writes an HTML page about the blocked requests of a period. It only reads from the WAF.
import packageJson from "../../package.json" with { type: "json" };
import { realClock } from "../async/clock.ts";
import { counted } from "../model/sentence.ts";
import type { DeclaredLists } from "../pages/client-lists.ts";
import { checkReportFile, reportPage, writeReportFile } from "../pages/report.ts";
import { readRequests } from "../pages/requests.ts";
import type { RequestsQuestion } from "../pages/requests.ts";
import type { LogPlan } from "../plan/logs/log-days.ts";
import { dayOf } from "../model/time-text.ts";
import { createWafClient } from "../waf/client.ts";
import { LaneRegistry } from "../waf/lane-registry.ts";
import { parseRange, retentionWarning } from "./logs/log-range.ts";
import { findLogSource } from "./logs/log-source.ts";
import type { LogSource, LogSourceOptions } from "./logs/log-source.ts";
import { LogWatch, logFaultError } from "./logs/log-watch.ts";
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
  try {
    const declared = await declaredIn(options, source, nowMs);
    const question = { instance: source.instance, declared, period: { range, topMax: options.top, watch } };
    const end = await withStopSignals(async ({ stop }) => await read(source, options.timeout * 1000, question, stop));
    progress.clear();
    if (end.state === "Failed") throw logFaultError(end.fault, source.declared);
    if (end.state === "Stopped") {
      notes.line("Stopped. No report was written.");
      return 130;
    }
    for (const text of end.warnings) notes.line(`warning: ${text}`);
    const warnings = [retention, ...end.warnings, ...watch.warnings].filter((text) => text !== undefined);
    const page = reportPage({ ...end, warnings: warnings.map((text) => key.redact(text)) }, packageJson.version);
    if (options.out === standardOutput) process.stdout.write(page);
    else await writeReportFile(options.out, page);
    const where = options.out === standardOutput ? "" : ` is in ${options.out}`;
    notes.line(`A report of ${counted(end.summary.total, "blocked request", "blocked requests")}${where}.`);
    return watch.isWhole && end.warnings.length === 0 ? 0 : 1;
  } finally {
    progress.clear();
  }
}

async function read(
  { baseUrl, key, minRequestIntervalMs }: LogSource,
  requestTimeoutMs: number,
  question: RequestsQuestion & { readonly period: { readonly watch: LogWatch } },
  stopping: AbortSignal,
): ReturnType<typeof readRequests> {
  const clock = realClock;
  const registry = new LaneRegistry({ clock, locks: processLocks("wafsync report") });
  const lane = registry.acquire({ baseUrl, key, minRequestIntervalMs });
  const permit = () => ({ permitted: false, reason: "This command only reads." }) as const;
  const waf = createWafClient({ baseUrl, key, requestTimeoutMs, lane, permit, clock });
  const redact = (text: string): string => key.redact(text);
  const onWait = question.period.watch.waiting;
  try {
    return await readRequests({ waf, clock, random: Math.random, stopping, onWait, redact }, question);
  } finally {
    await registry.close();
  }
}

/** What the folder of `-f` declares. @throws CommandError if it can't be read */
async function declaredIn(
  options: ReportOptions,
  { instance }: LogSource,
  nowMs: number,
): Promise<DeclaredLists | undefined> {
  if (options.from === undefined || instance === undefined) return undefined;
  const { openFolder } = await import("./targets/folder-target.ts");
  const { declaredLists } = await import("../pages/client-lists.ts");
  const target = await openFolder(options, options.from);
  try {
    return declaredLists(await target.look(instance, { live: false }), nowMs);
  } finally {
    await target.close();
  }
}
