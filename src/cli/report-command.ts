// `wafsync report`: writes an HTML page about the blocked requests of a period. It only reads from the WAF.
import packageJson from "../../package.json" with { type: "json" };
import { realClock } from "../async/clock.ts";
import { counted } from "../model/texts.ts";
import { checkReportFile, reportPage, writeReportFile } from "../pages/report.ts";
import { readRequests } from "../pages/requests.ts";
import type { ReportOptions } from "./commands/waf-commands.ts";
import { parseRange } from "./logs/log-range.ts";
import { logFaultError, withLogs } from "./logs/log-watch.ts";

const standardOutput = "-";

/** @returns 0 if the report is complete, 1 if something is missing, 130 if stopped by a signal. @throws CommandError */
export async function runReport(options: ReportOptions): Promise<number> {
  const nowMs = realClock.nowMs();
  const range = parseRange(options.since, options.until, nowMs);
  if (options.out !== standardOutput) await checkReportFile(options.out);
  const how = { command: "wafsync report", range, nowMs, showsProgress: true };
  return await withLogs(options, how, async ({ waf, ports, watch, retention, sight }, { out, notes, redactor }) => {
    const redact = (text: string): string => redactor.redact(text);
    const period = { range, topMax: options.top, watch };
    const end = await readRequests({ ...ports, waf, redact }, { sight, period });
    watch.clear();
    if (end.state === "Failed") throw logFaultError(end.fault, sight?.gathered.instance);
    if (end.state === "Stopped") {
      notes.line("Stopped. No report was written.");
      return 130;
    }
    for (const text of end.warnings) notes.remark("warning", text);
    const warnings = [retention, ...end.warnings, ...watch.warnings].filter((text) => text !== undefined);
    const page = reportPage({ ...end, warnings: warnings.map(redact) }, packageJson.version);
    if (options.out === standardOutput) out.write(page);
    else await writeReportFile(options.out, page);
    const where = options.out === standardOutput ? "" : ` is in ${options.out}`;
    notes.line(`A report of ${counted(end.summary.total, "blocked request", "blocked requests")}${where}.`);
    return watch.isWhole && end.warnings.length === 0 ? 0 : 1;
  });
}
