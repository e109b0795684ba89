// `wafsync report`: writes a page about the blocked requests of some days. It only reads from the WAF.
import { inThousands } from "../model/sentence.ts";
import packageJson from "../../package.json" with { type: "json" };
import { realClock } from "../async/clock.ts";
import { listNames } from "../model/declared.ts";
import { addressesToBlock, assessClients } from "./report/report-clients.ts";
import type { LogPlan } from "../plan/logs/retention.ts";
import { dayOf } from "../reconcile/logs/log-days.ts";
import { createWafClient } from "../waf/client.ts";
import { LaneRegistry } from "../waf/lane-registry.ts";
import { logFaultError } from "./logs/log-faults.ts";
import { describeRange, parseRange, retentionWarning } from "./logs/log-range.ts";
import type { LogRange } from "./logs/log-range.ts";
import { findLogSource } from "./logs/log-source.ts";
import type { LogSource, LogSourceOptions } from "./logs/log-source.ts";
import { LogWatch } from "./logs/log-watch.ts";
import { collectReport } from "./report/collect-report.ts";
import type { ReportEnd } from "./report/collect-report.ts";
import type { ReportData } from "./report/report-data.ts";
import { checkReportFile, writeReportFile } from "./report/report-file.ts";
import { suggestRule } from "./report/suggested-rule.ts";
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
    const end = await withStopSignals(
      async ({ stop }) => await collect(source, options.timeout * 1000, range, watch, stop),
    );
    progress.clear();
    if (end.state === "Failed") throw logFaultError(end.fault);
    if (end.state === "Stopped") {
      notes.line("Stopped. No report was written.");
      return 130;
    }
    const unread = listNames.flatMap((list) => {
      const read = end[list];
      return read.ok ? [] : [`cannot read the ${list}: ${read.fault.message}`];
    });
    for (const text of unread) notes.line(`warning: ${text}`);
    const warnings = [retention, ...unread, ...watch.warnings].filter((text) => text !== undefined);
    await write(end, options, source, { period: describeRange(range), warnings });
    const where = options.out === standardOutput ? "" : ` is in ${options.out}`;
    notes.line(`A report of ${inThousands(end.report.total)} blocked requests${where}.`);
    return watch.isWhole && unread.length === 0 ? 0 : 1;
  } finally {
    progress.clear();
  }
}

async function collect(
  { baseUrl, key, minRequestIntervalMs }: LogSource,
  requestTimeoutMs: number,
  range: LogRange,
  watch: LogWatch,
  stopping: AbortSignal,
): Promise<ReportEnd> {
  const clock = realClock;
  const registry = new LaneRegistry({ clock, locks: processLocks("wafsync report") });
  const lane = registry.acquire({ baseUrl, key, minRequestIntervalMs });
  const permit = () => ({ permitted: false, reason: "A report only reads." }) as const;
  const waf = createWafClient({ baseUrl, key, requestTimeoutMs, lane, permit, clock });
  try {
    const ports = { waf, clock, random: Math.random, stopping, onWait: watch.waiting };
    return await collectReport(ports, key, range, watch);
  } finally {
    await registry.close();
  }
}

async function write(
  { report, blocklist, allowlist, domain }: Extract<ReportEnd, { state: "Done" }>,
  { top, out }: ReportOptions,
  { key, instance }: LogSource,
  { period, warnings }: Pick<ReportData, "period" | "warnings">,
): Promise<void> {
  const summary = report.summary(top);
  const clients = assessClients(summary.clients.items, {
    blocklist: blocklist.ok ? blocklist.value : undefined,
    allowlist: allowlist.ok ? allowlist.value : undefined,
  });
  // The chart library is large, and not needed before there is something to draw.
  const { reportPage } = await import("./report/report-page.ts");
  const madeAtMs = realClock.nowMs();
  const page = reportPage({
    summary,
    period,
    clients,
    domain: domain === undefined ? undefined : key.redact(domain),
    madeAtMs,
    suggestedRule: suggestRule(addressesToBlock(clients), instance, summary.days, madeAtMs),
    warnings: warnings.map((text) => key.redact(text)),
    version: packageJson.version,
  });
  if (out === standardOutput) process.stdout.write(page);
  else await writeReportFile(out, page);
}
