// Judges the rows of a run for the WafAutoBlocks of its instance.
import type { DeclaredAutoBlock, JudgedEntry } from "../../model/auto-block.ts";
import type { Entry } from "../../model/entry.ts";
import type { Gathered } from "../../model/gathered.ts";
import type { LogEntry } from "../../model/log-entry.ts";
import { judgedBlocks } from "../../plan/blocking/judged-blocks.ts";
import type { TimedRow } from "../../plan/blocking/judge.ts";
import type { Judges } from "../../plan/blocking/judges.ts";
import { exemptionsIn } from "../../plan/instance/auto-block-exemptions.ts";

/** Whether the logs must be read for a WafAutoBlock. */
export function wantsJudging(gathered: Gathered): boolean {
  return gathered.autoBlocks !== undefined && judgedBlocks(gathered).some(({ suspend }) => !suspend);
}

export type JudgeRows = (
  rows: readonly LogEntry[],
  nowMs: number,
) => readonly { readonly block: DeclaredAutoBlock; readonly listed: readonly JudgedEntry[] }[];

/** For one run. The exemptions are compiled when the first client reaches a threshold. */
export function judging(gathered: Gathered, judges: Judges): JudgeRows {
  judges.use(gathered.autoBlocks === undefined ? [] : judgedBlocks(gathered));
  return (rows, nowMs) =>
    judges.take(rows.map(timed), nowMs, ({ meta: { namespace }, exempt }) => {
      const exemptionOf = exemptionsIn(gathered, { namespace, exempt }, nowMs);
      return (entry: Entry) => exemptionOf(entry) !== undefined;
    });
}

export function timed(entry: LogEntry): TimedRow {
  const atMs = Date.parse(entry.timestamp);
  return { entry, atMs: Number.isNaN(atMs) ? undefined : atMs };
}
