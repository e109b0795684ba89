// `wafsync apply`: brings every WAF to its declared state, and exits.
import { realClock } from "../async/clock.ts";
import { nameKey } from "../model/resource.ts";
import type { ResourceMeta } from "../model/resource.ts";
import { counted } from "../model/sentence.ts";
import type { RunFacts } from "../reconcile/facts.ts";
import type { ObjectEvent, ReconcileObserver } from "../reconcile/ports.ts";
import type { InstanceResult, Standalone } from "../app/standalone.ts";
import { noInstance, printFaults, printTroubles } from "./folder-faults.ts";
import type { InstanceView } from "./instance-view.ts";
import { viewResult } from "./instance-view.ts";
import { resultLines } from "./print-instance.ts";
import type { Session } from "./session.ts";
import { StatusLine } from "./status-line.ts";
import type { FolderOptions } from "./targets/folder-runs.ts";
import { withStandalone } from "./targets/folder-runs.ts";
import type { Terminal } from "./terminal.ts";
import { remark } from "./terminal.ts";

export interface ApplyOptions extends FolderOptions {
  readonly output: "table" | "json";
}

const changeReasons: ReadonlySet<string> = new Set(["EntriesAdded", "EntriesRemoved", "EntriesAdopted"]);

/** @returns 0 if everything is done, 1 if something is incomplete, 2 if there is an error, 130 if it was stopped. */
export async function runApply(options: ApplyOptions): Promise<number> {
  const lines = new Map<string, StatusLine>();
  const cleared = new Map<string, number>();
  const drift = new Map<string, string[]>();
  const changes = new Map<string, string[]>();
  const how = {
    isDryRun: false,
    command: "wafsync apply",
    // Prints only these events: the result contains everything else.
    onEvent:
      () =>
      (meta: ResourceMeta, { reason, message }: ObjectEvent) => {
        if (meta.kind !== "WafInstance") return;
        const name = nameKey(meta);
        if (reason === "DriftDetected") drift.set(name, [...(drift.get(name) ?? []), `${reason}: ${message}`]);
        else if (changeReasons.has(reason)) changes.set(name, [...(changes.get(name) ?? []), message]);
      },
    observer: ({ notes }: Session): ReconcileObserver => ({
      ...progressObserver(lines, notes),
      clearTried: (instance, _cause, isCleared) => {
        const name = nameKey(instance);
        if (isCleared) cleared.set(name, (cleared.get(name) ?? 0) + 1);
      },
    }),
  };
  return await withStandalone(options, how, async (standalone, { out, notes, stopping }) => {
    const printed = new Set<string>();
    let isFaulty = await printFaults(standalone, notes, printed);
    const results = await standalone.applyOnce(async () => {
      isFaulty = await printFaults(standalone, notes, printed);
    });
    for (const line of lines.values()) line.end();
    const views = viewResults(standalone, results).map((view) => ({
      ...view,
      cleared: cleared.get(nameKey(view)) ?? 0,
      changes: changes.get(nameKey(view)) ?? [],
      warnings: [...(drift.get(nameKey(view)) ?? []), ...view.warnings],
    }));
    printResults(out, options, views);
    printTroubles(standalone, notes, views);
    if (stopping().stop.aborted && standalone.lost() === undefined) {
      notes.line("Stopped. Completed changes are recorded: run the command again to continue.");
      return 130;
    }
    if (views.length === 0) notes.line(remark(notes.paint, "error", noInstance(isFaulty, "apply")));
    if (isFaulty || views.length === 0 || views.some(({ trouble }) => trouble !== undefined)) return 2;
    const hasPendingClears = results.some(({ outcome }) => outcome.pendingClears > 0);
    const isSuspended = results.some(({ outcome: { facts } }) => suspension(facts) !== undefined);
    const isOpen = hasPendingClears || isSuspended || standalone.feedProblems().length > 0;
    return isOpen || views.some(isIncomplete) ? 1 : 0;
  });
}

function viewResults(standalone: Standalone, results: readonly InstanceResult[]): InstanceView[] {
  return results.flatMap(({ outcome: { facts } }) => {
    if (facts === undefined) return [];
    const view = viewResult(facts, standalone);
    const warnings = [suspension(facts)].filter((warning) => warning !== undefined);
    return [{ ...view, warnings: [...view.warnings, ...warnings] }];
  });
}

/** Why the WAF of a suspended instance is not in the declared state; undefined if it is. */
function suspension(facts: RunFacts | undefined): string | undefined {
  const count = facts?.plan?.observedOnly.length ?? 0;
  if (count === 0 || facts?.gathered.instance.suspend !== true) return undefined;
  return `${counted(count, "change is", "changes are")} not written, because the instance is suspended (spec.suspend).`;
}

function printResults(out: Terminal, { output }: ApplyOptions, views: readonly InstanceView[]): void {
  if (output === "json") {
    // The planned operations have been executed by now; the objects show which changes are missing.
    out.line(JSON.stringify({ instances: views.map((view) => ({ ...view, operations: undefined })) }, undefined, 2));
  } else if (views.length > 0) {
    for (const line of resultLines(views, out.paint)) out.line(line);
  }
}

function isIncomplete(view: InstanceView): boolean {
  return view.held.length > 0 || view.objects.some(({ ready, isAccepted }) => ready === "False" || !isAccepted);
}

function progressObserver(lines: Map<string, StatusLine>, notes: Terminal): ReconcileObserver {
  const lineOf = (name: string): StatusLine => {
    const known = lines.get(name);
    if (known !== undefined) return known;
    const line = new StatusLine(notes, realClock, { label: name });
    lines.set(name, line);
    return line;
  };
  return {
    operationDone: (instance, _operation, left) => lineOf(nameKey(instance)).advance(1, { left }),
    waiting: (instance, why, delayMs) => {
      lineOf(nameKey(instance)).wait(`waiting ${Math.ceil(delayMs / 1000)} s: ${why}`);
    },
  };
}
