// `wafsync apply`: brings every WAF to its declared state, and exits.
import { realClock } from "../async/clock.ts";
import { nameKey, type ObjectName, type ResourceMeta } from "../model/resource.ts";
import { counted } from "../model/sentence.ts";
import type { RunFacts } from "../run/facts.ts";
import type { ObjectEvent, ReconcileObserver } from "../run/ports.ts";
import type { ApplyOptions } from "./commands/folder-commands.ts";
import { noInstance, printFaults, printTroubles } from "./folder-faults.ts";
import { type InstanceView, viewResult } from "./instance-view.ts";
import { countsLine, objectTable, planLines, remarkLines } from "./print-instance.ts";
import type { Session } from "./session.ts";
import { StatusLine } from "./status-line.ts";
import { withStandalone } from "./targets/folder-runs.ts";
import { type Answer, type Terminal, ask, canAsk, remark } from "./terminal.ts";

/** What was seen of an instance while it was reconciled. */
interface Happened {
  line: StatusLine | undefined;
  cleared: number;
  readonly drift: string[];
  readonly changes: string[];
}

const changeReasons: ReadonlySet<string> = new Set(["EntriesAdded", "EntriesRemoved", "EntriesAdopted"]);

/** @returns 0 if everything is done, 1 if something is incomplete, 2 if there is an error, 130 if it was stopped. */
export async function runApply(options: ApplyOptions): Promise<number> {
  const confirmed = options.yes || options.output === "json" || !canAsk() ? "Yes" : await confirmation(options);
  if (confirmed === "Yes") return await apply(options);
  return confirmed === "No" ? 1 : 130;
}

/** Asks a person, if entries or origins would be removed. */
async function confirmation(options: ApplyOptions): Promise<Answer> {
  let answer: Answer = "Yes";
  const how = { isDryRun: true, command: "wafsync apply" };
  await withStandalone(options, how, async (standalone, { out, stopping }) => {
    const previews = await standalone.preview();
    const views = previews.map(({ facts, pendingClears }) => viewResult(facts, standalone, pendingClears));
    const removing = views.filter(({ operations }) =>
      operations.some(({ operation }) => operation.startsWith("Remove")),
    );
    if (stopping().stop.aborted) answer = "Stopped";
    else if (removing.length > 0) {
      for (const line of removing.flatMap((view) => planLines(view, out.paint, false))) out.line(line);
      answer = await ask("Make these changes?");
    }
    if (answer !== "Yes") out.line("Nothing was changed.");
    return 0;
  });
  return answer;
}

async function apply(options: ApplyOptions): Promise<number> {
  const happened = new Map<string, Happened>();
  const of = (instance: ObjectName): Happened => {
    const known = happened.get(nameKey(instance)) ?? { line: undefined, cleared: 0, drift: [], changes: [] };
    happened.set(nameKey(instance), known);
    return known;
  };
  const how = {
    isDryRun: false,
    command: "wafsync apply",
    // Prints only these events: the result contains everything else.
    onEvent:
      () =>
      (meta: ResourceMeta, { reason, message }: ObjectEvent) => {
        if (meta.kind !== "WafInstance") return;
        if (reason === "DriftDetected") of(meta).drift.push(`${reason}: ${message}`);
        else if (changeReasons.has(reason)) of(meta).changes.push(message);
      },
    observer: ({ notes }: Session): ReconcileObserver => {
      const lineOf = (instance: ObjectName): StatusLine =>
        (of(instance).line ??= new StatusLine(notes, realClock, { label: nameKey(instance) }));
      return {
        operationDone: (instance, _operation, left) => lineOf(instance).advance(1, { left }),
        waiting: (instance, why, delayMs) => lineOf(instance).wait(`waiting ${Math.ceil(delayMs / 1000)} s: ${why}`),
        clearTried: (instance, _cause, isCleared) => {
          if (isCleared) of(instance).cleared += 1;
        },
      };
    },
  };
  return await withStandalone(options, how, async (standalone, { out, notes, stopping }) => {
    const printed = new Set<string>();
    let { isFaulty } = await printFaults(standalone, notes, printed);
    const results = await standalone.applyOnce(async () => {
      ({ isFaulty } = await printFaults(standalone, notes, printed));
    });
    for (const { line } of happened.values()) line?.end();
    const views = results.flatMap(({ outcome: { facts } }) => {
      if (facts === undefined) return [];
      const { cleared, changes, drift } = of(facts.gathered.instance.meta);
      const view = viewResult(facts, standalone);
      return [{ ...view, cleared, changes, warnings: [...drift, ...view.warnings, ...suspension(facts)] }];
    });
    printResults(out, options, views);
    printTroubles(standalone, notes, views);
    if (stopping().stop.aborted && standalone.lost() === undefined) {
      notes.line("Stopped. Completed changes are recorded: run the command again to continue.");
      return 130;
    }
    if (views.length === 0) notes.line(remark(notes.paint, "error", noInstance(isFaulty, "apply")));
    if (isFaulty || views.length === 0 || views.some(({ trouble }) => trouble !== undefined)) return 2;
    const hasPendingClears = results.some(({ outcome }) => outcome.pendingClears > 0);
    const isSuspended = results.some(({ outcome: { facts } }) => suspension(facts).length > 0);
    const isOpen = hasPendingClears || isSuspended || standalone.feedProblems().length > 0;
    return isOpen || views.some(isIncomplete) ? 1 : 0;
  });
}

/** Why the WAF of a suspended instance is not in the declared state; empty if it is. */
function suspension(facts: RunFacts | undefined): string[] {
  const count = facts?.plan?.observedOnly.length ?? 0;
  if (count === 0 || facts?.gathered.instance.suspend !== true) return [];
  return [
    `${counted(count, "change is", "changes are")} not written, because the instance is suspended (spec.suspend).`,
  ];
}

function printResults(out: Terminal, { output }: ApplyOptions, views: readonly InstanceView[]): void {
  if (output === "json") {
    // The planned operations have been executed by now; the objects show which changes are missing.
    out.line(JSON.stringify({ instances: views.map((view) => ({ ...view, operations: undefined })) }, undefined, 2));
  } else if (views.length > 0) {
    for (const line of objectTable(views, out.paint)) out.line(line);
    for (const view of views.filter(({ trouble }) => trouble === undefined)) {
      out.line(`\n${countsLine(view, out.paint)}`);
      for (const change of view.changes ?? []) out.line(`  ${change}`);
      for (const line of remarkLines(view, out.paint)) out.line(line);
    }
  }
}

function isIncomplete(view: InstanceView): boolean {
  return view.held.length > 0 || view.objects.some(({ ready, isAccepted }) => ready === "False" || !isAccepted);
}
