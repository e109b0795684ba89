// Forwards the new blocked requests of one instance, run after run:
//
//   gather ──▶ load the cursor ──▶ read, page by page ──▶ write to the output ──▶ save the cursor ──▶ report
//
// An entry counts as forwarded when the output has accepted it, and only then may a saved cursor include it. A crash in between
// therefore forwards entries again and never misses one. Without a crash, each entry is forwarded once.
import { upwardBackOffDelayMs } from "../async/back-off.ts";
import { monotonicTimeOf, wallTimeOf } from "../async/clock.ts";
import { requestedAtAnnotation } from "../kinds/kinds.ts";
import type { ReadingReport } from "../blocks/block-book.ts";
import type { Gathered } from "../model/gathered.ts";
import type { ObjectName } from "../model/resource.ts";
import { type Admission, admitInstance, attemptOf } from "../decide/domain.ts";
import {
  type ForwardLogsPorts,
  type ForwardMemory,
  outputFor,
  type LogsFinding,
  reportLogs,
  reportNoLogs,
} from "./forward-ports.ts";
import { type ForwardResult, ForwardRun } from "./forward-run.ts";
import { wantsJudging } from "../blocks/judge-day.ts";

const retryBaseMs = 2_000;
const retryMsMax = 300_000;
/** The minimum time between two runs, however long a run takes. */
const pauseMsMin = 1_000;
/** A process that may not forward is soon stopped or allowed to forward again. */
const notLeadingMs = 10_000;

export interface ForwardOutcome {
  /** When to run again without a change; undefined if only a change requires a run. */
  readonly wakeAtMs: number | undefined;
}

/** Forwards once if a run is due. Never throws because of external failures. */
export async function forwardLogs(
  name: ObjectName,
  ports: ForwardLogsPorts,
  memory: ForwardMemory,
): Promise<ForwardOutcome> {
  const gathered = await ports.source.gather(name);
  if (gathered === undefined) return { wakeAtMs: undefined };
  const { meta, logs } = gathered.instance;
  if (meta.deleting) return { wakeAtMs: undefined };
  // An instance that was created again has its own record.
  if (memory.uid !== meta.uid) memory.cursor = undefined;
  memory.uid = meta.uid;
  const isForwarding = outputFor(ports, logs) !== undefined;
  if (!isForwarding) await reportNoLogs(ports.status, meta);
  if (!isForwarding && !wantsJudging(gathered)) {
    memory.cursor = undefined;
    memory.due = undefined;
    ports.observer.remembered?.(meta, 0);
    return { wakeAtMs: undefined };
  }
  // It is part of every entry, and the run that finds it also creates the status.
  if (ports.domainOf(meta) === undefined) return { wakeAtMs: undefined };
  const attempt = attemptOf(gathered, meta.annotations[requestedAtAnnotation] ?? "", [logs, gathered.autoBlocks]);
  const { due } = memory;
  if (due === undefined || due.attempt !== attempt || ports.clock.monotonicMs() >= due.atMs) {
    const dueMs = await forwardOnce(gathered, ports, memory);
    if (dueMs === undefined) return { wakeAtMs: undefined };
    memory.due = { atMs: monotonicTimeOf(ports.clock, dueMs), attempt };
    return { wakeAtMs: dueMs };
  }
  return { wakeAtMs: wallTimeOf(ports.clock, due.atMs) };
}

/** @returns when the next run is due; undefined if the process is stopping */
async function forwardOnce(
  gathered: Gathered,
  ports: ForwardLogsPorts,
  memory: ForwardMemory,
): Promise<number | undefined> {
  const { clock, status, observer } = ports;
  const { meta, logs } = gathered.instance;
  const startMs = clock.monotonicMs();
  const admission = admitInstance(gathered, ports.baseUrlObjection);
  const result =
    admission.kind === "Admitted"
      ? await new ForwardRun(gathered, admission.key, ports, memory).run()
      : blockedBy(admission);
  observer.remembered?.(meta, memory.cursor?.rowsKept ?? 0);
  if (result.kind === "Stopped") return ports.stopping.aborted ? undefined : clock.nowMs() + notLeadingMs;
  if (result.finding !== undefined) {
    ports.blocks.report(meta, readingOf(result.finding));
    if (outputFor(ports, logs) !== undefined) await reportLogs(status, meta, memory, result.finding, clock.nowMs());
  }
  const nextMs = Math.max(wallTimeOf(clock, startMs + logs.intervalMs), clock.nowMs() + pauseMsMin);
  if (result.kind === "Done") {
    memory.failures = 0;
    return nextMs;
  }
  if (result.kind === "Resting") {
    memory.failures = 0;
    observer.failed?.(meta, result.finding.reason, undefined);
    return Math.max(result.untilMs, clock.nowMs() + pauseMsMin);
  }
  const fault = result.kind === "Failed" ? result.fault : undefined;
  observer.failed?.(meta, result.finding?.reason ?? "Withdrawn", fault);
  if (result.kind === "Blocked") return nextMs;
  memory.failures += 1;
  const options = { attempt: memory.failures, baseMs: retryBaseMs, maxMs: retryMsMax, random: ports.random };
  return clock.nowMs() + Math.max(upwardBackOffDelayMs(options), fault?.retryAfterMs ?? 0);
}

/** Converts the finding for WafAutoBlocks, for which nothing is forwarded. */
function readingOf(finding: LogsFinding): ReadingReport {
  if (finding.reason !== "Forwarded") return finding;
  return { status: "True", reason: "Judged", message: "New blocked requests are judged." };
}

function blockedBy({ message }: Extract<Admission, { kind: "Blocked" }>): ForwardResult {
  return { kind: "Blocked", finding: { status: "False", reason: "ApiUnavailable", message } };
}
