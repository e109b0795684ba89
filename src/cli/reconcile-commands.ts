// `wafsync plan`, `apply` and `run`: show what would change on the WAFs of a folder, change it, and keep them in the declared state.
import type { Preview, Standalone } from "../app/standalone.ts";
import { realClock } from "../async/clock.ts";
import { continuesAnnotation } from "../model/continues.ts";
import { nameKey, type ObjectName, type ResourceMeta } from "../model/resource.ts";
import { counted } from "../model/sentence.ts";
import { visibleText } from "../model/visible-text.ts";
import type { RunFacts } from "../run/facts.ts";
import type { ObjectEvent, ReconcileObserver } from "../run/ports.ts";
import { faultText } from "../source/directory/source-fault.ts";
import type { ApplyOptions, PlanOptions, RunOptions } from "./commands/folder-commands.ts";
import {
  countsLine,
  differsFromDeclared,
  isPartial,
  objectTable,
  planLines,
  remarkLines,
  viewInstance,
} from "./instance-view.ts";
import type { InstanceView } from "./instance-view.ts";
import type { Session } from "./session.ts";
import { StatusLine } from "./status-line.ts";
import { withStandalone } from "./targets/folder-target.ts";
import { ask, canAsk, type Paint, remark, type Terminal } from "./terminal.ts";

/**
 * @returns 0 if there is nothing to do, 1 if there are changes or a feed has a problem, 2 if there is an error in a file or a call, 130 if it was
 * stopped.
 */
export async function runPlan(options: PlanOptions): Promise<number> {
  return await withStandalone(
    options,
    () => ({ isDryRun: true, command: "wafsync plan" }),
    async (standalone, session) => {
      const { out, notes, stopping } = session;
      const views = viewPreviews(standalone, await standalone.preview());
      if (stopping().stop.aborted) {
        notes.line("Stopped before the plan was complete.");
        return 130;
      }
      const { lines: faults, isFaulty } = await printFaults(standalone, notes);
      if (options.output === "json") out.line(JSON.stringify({ instances: views }, undefined, 2));
      else if (options.output === "markdown") {
        const { planMarkdown } = await import("./plan-markdown.ts");
        const texts = faults.map(({ kind, text }) => `${kind}: ${visibleText(text)}`);
        out.line(planMarkdown(views, views.length === 0 ? [...texts, noInstance(isFaulty, "plan")] : texts));
      } else
        for (const line of views.flatMap((view) => planLines(view, out.paint, isFaulty, options.full))) out.line(line);
      if (hasFailed(standalone, notes, views, { isFaulty, act: "plan" }) || views.some(isPartial)) return 2;
      return standalone.feedProblems().length > 0 || views.some(differsFromDeclared) ? 1 : 0;
    },
  );
}

function viewPreviews(standalone: Standalone, previews: readonly Preview[]): InstanceView[] {
  return previews.map(({ facts, pendingClears }) => viewInstance(facts, standalone, { pendingClears, isLast: true }));
}

/** @returns 0 if everything is done, 1 if something is incomplete or not confirmed, 2 if there is an error, 130 if it was stopped. */
export async function runApply(options: ApplyOptions): Promise<number> {
  const code = options.yes || options.output === "json" || !canAsk() ? 0 : await confirm(options);
  return code === 0 ? await apply(options) : code;
}

/** Asks a person, if entries or origins would be removed. @returns 0 if the changes may be made */
async function confirm(options: ApplyOptions): Promise<number> {
  return await withStandalone(
    options,
    () => ({ isDryRun: true, command: "wafsync apply" }),
    async (standalone, { out, stopping }) => {
      const removing = viewPreviews(standalone, await standalone.preview()).filter(({ operations }) =>
        operations.some(({ operation }) => operation.startsWith("Remove")),
      );
      const isStopped = stopping().stop.aborted;
      if (removing.length === 0 && !isStopped) return 0;
      if (!isStopped) for (const line of removing.flatMap((view) => planLines(view, out.paint, false))) out.line(line);
      const answer = isStopped ? "Stopped" : await ask("Make these changes?");
      if (answer !== "Yes") out.line("Nothing was changed.");
      return { Yes: 0, No: 1, Stopped: 130 }[answer];
    },
  );
}

/** What was seen of an instance while it was reconciled. */
interface Happened {
  line: StatusLine | undefined;
  cleared: number;
  readonly drift: string[];
  readonly changes: string[];
}

const changeReasons: ReadonlySet<string> = new Set(["EntriesAdded", "EntriesRemoved", "EntriesAdopted"]);

async function apply(options: ApplyOptions): Promise<number> {
  const happened = new Map<string, Happened>();
  const of = (instance: ObjectName): Happened => {
    const known = happened.get(nameKey(instance)) ?? { line: undefined, cleared: 0, drift: [], changes: [] };
    happened.set(nameKey(instance), known);
    return known;
  };
  const how = ({ notes }: Session) => {
    const lineOf = (instance: ObjectName): StatusLine =>
      (of(instance).line ??= new StatusLine(notes, realClock, { label: nameKey(instance) }));
    const observer: ReconcileObserver = {
      operationDone: (instance, _operation, left) => lineOf(instance).advance(1, { left }),
      waiting: (instance, why, delayMs) => lineOf(instance).wait(`waiting ${Math.ceil(delayMs / 1000)} s: ${why}`),
      clearTried: (instance, _cause, isCleared) => {
        if (isCleared) of(instance).cleared += 1;
      },
    };
    // Collects only these events: the result contains everything else.
    const onEvent = (meta: ResourceMeta, { reason, message }: ObjectEvent): void => {
      if (meta.kind !== "WafInstance") return;
      if (reason === "DriftDetected") of(meta).drift.push(`${reason}: ${message}`);
      else if (changeReasons.has(reason)) of(meta).changes.push(message);
    };
    return { isDryRun: false, command: "wafsync apply", observer, onEvent };
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
      const view = viewInstance(facts, standalone, { isLast: true });
      return [{ ...view, cleared, changes, warnings: [...drift, ...view.warnings, ...suspension(facts)] }];
    });
    printResults(out, options, views);
    const isFailed = hasFailed(standalone, notes, views, { isFaulty, act: "apply" });
    if (stopping().stop.aborted && standalone.lost() === undefined) {
      notes.line("Stopped. Completed changes are recorded: run the command again to continue.");
      return 130;
    }
    if (isFailed) return 2;
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

/** @returns 0 if it was stopped by a signal. */
export async function runFollow(options: RunOptions): Promise<number> {
  const printed = new Map<string, string>();
  const faultsPrinted = new Set<string>();
  const how = ({ notes }: Session) => ({
    isDryRun: false,
    command: "wafsync run",
    onEvent: (meta: ResourceMeta, event: ObjectEvent): void => {
      if (event.isRepeated !== true) notes.line(eventLine(meta, event, notes.paint));
    },
  });
  return await withStandalone(options, how, async (standalone, { out, notes }) => {
    await printFaults(standalone, notes, faultsPrinted);
    notes.line(`${time(notes.paint)}  Watching ${options.from}. Press Ctrl-C to stop.`);
    await standalone.follow(
      () => void printFaults(standalone, notes, faultsPrinted),
      ({ instance, outcome: { facts } }) => {
        if (facts === undefined) return;
        const view = viewInstance(facts, standalone);
        const { trouble, added, removed, adopted } = view;
        const before = printed.get(nameKey(instance));
        const isJson = options.output === "json";
        const state = isJson
          ? JSON.stringify({ ...view, operations: undefined })
          : remarkLines(view, out.paint).join("\n");
        printed.set(nameKey(instance), state);
        // A failure is an event. A resync without a change prints nothing.
        const isWorthCounting = trouble === undefined && (before === undefined || added + removed + adopted > 0);
        if (!isJson && isWorthCounting) out.line(countsLine(view, out.paint));
        if (state !== before && state !== "") out.line(state);
      },
    );
    if (standalone.lost() === undefined)
      notes.line(`${time(notes.paint)}  Stopped. Completed changes are recorded: the next run continues from here.`);
    return 0;
  });
}

function eventLine(meta: ResourceMeta, { type, reason, message }: ObjectEvent, paint: Paint): string {
  const mark = paint(type === "Warning" ? "yellow" : "green", type.padEnd(7));
  return `${time(paint)}  ${mark}  ${meta.kind} ${nameKey(meta)}  ${paint("bold", reason)}: ${message}`;
}

/** The time of day in UTC, like the timestamps in a status. */
function time(paint: Paint): string {
  return paint("dim", `${new Date(realClock.nowMs()).toISOString().slice(11, 19)}Z`);
}

/** The errors and notes about the files, each with its place. */
interface Faults {
  readonly lines: readonly { readonly kind: "error" | "warning" | "note"; readonly text: string }[];
  readonly isFaulty: boolean;
}

/**
 * Prints what is wrong with the files.
 * @param printed For a command that keeps running: the texts of the last call, which are not repeated. Updated by this call.
 */
async function printFaults(standalone: Standalone, { line, paint }: Terminal, printed?: Set<string>): Promise<Faults> {
  const { faults, unattached } = standalone.faults();
  // Transient faults would only distract a user who edits the files while they are watched.
  const shown = faults.filter((one) => one.severity === "Error" || !one.isTransient || printed === undefined);
  const orphaned = await standalone.orphaned();
  const lines: Faults["lines"] = [
    ...shown.map((fault) => ({
      kind: fault.severity === "Error" ? ("error" as const) : ("note" as const),
      text: faultText(fault),
    })),
    ...unattached.map(({ place, problem }) => ({
      kind: "error" as const,
      text: `${place}: spec.instanceRef: ${problem}`,
    })),
    ...orphaned.map((name) => ({
      kind: "warning" as const,
      text: `WafInstance ${nameKey(name)} is no longer declared, and its managed entries stay on its WAF. If you renamed or moved it, add the annotation ${continuesAnnotation}: ${nameKey(name)} to the new instance, which then continues to manage them. To remove them from the WAF, declare the instance again without rules and origins.`,
    })),
  ];
  for (const { kind, text } of lines) if (printed?.has(text) !== true) line(remark(paint, kind, text));
  printed?.clear();
  for (const { text } of lines) printed?.add(text);
  return { lines, isFaulty: lines.some(({ kind }) => kind === "error") };
}

/** Prints what prevents the work, each with its place. @returns whether it does */
function hasFailed(
  standalone: Standalone,
  { line, paint }: Terminal,
  views: readonly InstanceView[],
  { isFaulty, act }: { readonly isFaulty: boolean; readonly act: string },
): boolean {
  for (const problem of standalone.feedProblems()) line(remark(paint, "warning", problem));
  for (const { namespace, name, place, trouble } of views) {
    if (trouble !== undefined) line(remark(paint, "error", `${place}: WafInstance ${namespace}/${name}: ${trouble}`));
  }
  if (views.length === 0) line(remark(paint, "error", noInstance(isFaulty, act)));
  return isFaulty || views.length === 0 || views.some(({ trouble }) => trouble !== undefined);
}

/** The message for a folder without a valid instance. */
function noInstance(isFaulty: boolean, act: string): string {
  const why = isFaulty ? "No WafInstance in this folder is valid" : "There is no WafInstance in this folder";
  return `${why}, so there is nothing to ${act}.`;
}
