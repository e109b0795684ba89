// Reports what a pass is doing, beside its calls: a call to the WAF never waits for a status to be written. One report runs at
// a time, and what is still unwritten when the pass ends is left to the report at its end.
import { factsOf } from "../facts.ts";
import type { Pass, ProgressReport } from "./run-state.ts";
import { reportMoved } from "./report.ts";

const progressIntervalMs = 2_000;

/** Begins a report if it is time for one. */
export async function reportProgress(pass: Pass): Promise<void> {
  const nowMs = pass.ports.clock.nowMs();
  if (nowMs - pass.lastProgressMs < progressIntervalMs || pass.progress?.isWritten === false) return;
  // One that failed says so here.
  await pass.progress?.written;
  pass.lastProgressMs = nowMs;
  const facts = factsOf({ ...pass, phase: "Applying", pass, nowMs });
  const toAll = pass.waiting !== pass.toldWaiting;
  pass.toldWaiting = pass.waiting;
  const goesOn = (): boolean => !pass.ended && !pass.ports.stopping.aborted;
  const written = reportMoved(pass.ports, pass.memory, facts, { toAll, goesOn });
  const report: ProgressReport = { written, isWritten: false };
  const note = (): void => void (report.isWritten = true);
  written.then(note, note);
  pass.progress = report;
}

/** Lets the report that runs end early: from here on the pass writes no status of its own. */
export async function endProgress(pass: Pass): Promise<void> {
  pass.ended = true;
  await pass.progress?.written;
}
