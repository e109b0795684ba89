// `wafsync plan`, `apply` and `run`: show what would change on the WAFs of a folder, change it, and keep them in the declared state.
import type { Preview, Standalone } from "../app/standalone.ts";
import { realClock } from "../async/clock.ts";
import { continuesAnnotation } from "../model/continues.ts";
import { nameKey, type ObjectName, type ResourceMeta } from "../model/resource.ts";
import { visibleText } from "../model/texts.ts";
import type { ObjectEvent, ReconcileObserver } from "../run/ports.ts";
import { faultText, isError } from "../source/directory/snapshot.ts";
import type { ApplyOptions, PlanOptions, RunOptions } from "./commands/folder-commands.ts";
import {
  applyVerdict,
  countsLine,
  instanceLines,
  isIncomplete,
  isPartial,
  markDrift,
  objectTable,
  planVerdict,
  remarkLines,
  type InstanceView,
  viewInstance,
} from "./instance-view.ts";
import type { Comment } from "./plan-markdown.ts";
import { type Review, reviewOf } from "./plan-review.ts";
import type { Session } from "./session.ts";
import { StatusLine } from "./status-line.ts";
import { type FolderOptions, withStandalone } from "./targets/folder-target.ts";
import { targetWords } from "./targets/open-target.ts";
import { ask, canAsk, type Paint, type RemarkKind, type Terminal } from "./terminal.ts";

/**
 * @returns 0 if there is nothing to do, 1 if there are changes or a feed has a problem, 2 if there is an error in a file or a call, 130 if it was
 * stopped.
 */
export async function runPlan({ base, ...options }: PlanOptions): Promise<number> {
  const command = "wafsync plan";
  const before = new Map<string, InstanceView>();
  if (base !== undefined) {
    const placed = { ...options, from: base, stateOf: options.from };
    const code = await withPreviews(placed, command, async (previews, standalone, { notes }) => {
      for (const view of viewPreviews(standalone, previews)) before.set(nameKey(view), view);
      const { faults } = standalone.faults();
      const isFaulty = faults.some(isError);
      const why = `the plan of ${base} is incomplete: drift may not be marked. To see its errors: wafsync plan -f ${base}`;
      if (isFaulty || [...before.values()].some(({ trouble }) => trouble !== undefined)) notes.remark("warning", why);
      return 0;
    });
    if (code !== 0) return code;
  }
  return await withPreviews(options, command, async (previews, standalone, session) => {
    const views = viewPreviews(standalone, previews).map((view) => markDrift(view, before.get(nameKey(view))));
    return await printPlan(views, reviewOf(previews), options, standalone, session);
  });
}

/** Plans without writing anything. @returns what `work` returns, or 130 if it was stopped before */
async function withPreviews(
  options: FolderOptions,
  command: string,
  work: (previews: readonly Preview[], standalone: Standalone, session: Session) => Promise<number>,
): Promise<number> {
  return await withStandalone(
    options,
    () => ({ isDryRun: true, command }),
    async (standalone, session) => {
      const previews = await standalone.preview();
      if (!session.stopping().stop.aborted) return await work(previews, standalone, session);
      const unchanged = command === "wafsync apply" ? " Nothing was changed." : "";
      session.notes.line(`Stopped before the plan was complete.${unchanged}`);
      return 130;
    },
  );
}

function viewPreviews(standalone: Standalone, previews: readonly Preview[]): InstanceView[] {
  return previews.map(({ facts, pendingClears }) => viewInstance(facts, standalone, pendingClears));
}

const withoutRecord =
  "No record of earlier runs: if there were any, set --state. Without it, entries that they added are unmanaged, and only Exclusive lists lose them.";

/** @param note about the whole plan. @returns the exit code of `plan` */
async function printPlan(
  views: readonly InstanceView[],
  { hash }: Review,
  { output, full }: Pick<PlanOptions, "output"> & { readonly full?: boolean },
  standalone: Standalone,
  { out, notes }: Session,
  note?: string,
): Promise<number> {
  const faults = await printFaults(standalone, notes);
  const isFaulty = hasErrors(faults);
  const isDue = views.some(({ outcomes }) => outcomes.length > 0);
  const isBlind = views.some(({ trouble }) => trouble === undefined) && !(await standalone.hasRecord());
  const first = isBlind ? [withoutRecord] : [];
  // A pipeline passes the hash on, also that of a plan without changes.
  const last = [note ?? [], isDue || output === "markdown" ? `Plan hash: ${hash}` : []].flat();
  const verdictOf = (view: InstanceView) => planVerdict(view, isFaulty);
  const comment = { command: "plan", verdictOf, faults: faultTexts(faults, views, "plan"), first, last } as const;
  await print(out, output, { hash, instances: views }, comment, () => [
    ...first,
    ...views.flatMap((view) => instanceLines(view, verdictOf(view), out.paint, full)),
    ...last,
  ]);
  if (hasFailed(standalone, notes, views, faults, "plan") || views.some(isPartial)) return 2;
  return standalone.feedProblems().length > 0 || isDue ? 1 : 0;
}

/** @returns 0 if everything is done, 1 if something is incomplete or not confirmed, 2 if there is an error, 130 if it was stopped. */
export async function runApply(options: ApplyOptions): Promise<number> {
  const { plan: reviewed, yes, output } = options;
  if (reviewed === undefined && (yes || output !== "table" || !canAsk())) return await apply(options);
  let review: Review | undefined;
  const code = await withPreviews(options, "wafsync apply", async (previews, standalone, session) => {
    const views = viewPreviews(standalone, previews);
    if (reviewed === undefined) return await confirm(views, session);
    review = reviewOf(previews);
    if (review.hash === reviewed) return 0;
    const other = `Nothing was changed: this plan has another hash than "${reviewed}".`;
    const failed = await printPlan(views, review, options, standalone, session, other);
    const next = `wafsync apply ${targetWords(options)}--plan ${review.hash}`;
    session.notes.remark(
      "error",
      `the plan has another hash than "${reviewed}", so nothing was changed. Review it, and then run: ${next}`,
    );
    return Math.max(failed, 1);
  });
  return code === 0 ? await apply(options, review) : code;
}

/** Asks a person, if entries or origins would be removed. @returns 0 if the changes may be made */
async function confirm(views: readonly InstanceView[], { out }: Session): Promise<number> {
  const removing = views.filter(({ outcomes }) => outcomes.some(({ outcome }) => outcome === "Remove"));
  if (removing.length === 0) return 0;
  for (const line of removing.flatMap((view) => instanceLines(view, planVerdict(view, false), out.paint)))
    out.line(line);
  const answer = await ask("Make these changes?");
  if (answer !== "Yes") out.line("Nothing was changed.");
  return { Yes: 0, No: 1, Stopped: 130 }[answer];
}

/** What was seen of an instance while it was reconciled. */
interface Happened {
  line: StatusLine | undefined;
  cleared: number;
  readonly drift: string[];
  readonly changes: string[];
}

const changeReasons: ReadonlySet<string> = new Set(["EntriesAdded", "EntriesRemoved", "EntriesAdopted"]);

/** @param review what may be written; anything if undefined */
async function apply(options: ApplyOptions, review?: Review): Promise<number> {
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
    return { isDryRun: false, command: "wafsync apply", observer, onEvent, review };
  };
  return await withStandalone(options, how, async (standalone, { out, notes, stopping }) => {
    const printed = new Set<string>();
    let faults = await printFaults(standalone, notes, printed);
    const results = await standalone.applyOnce(async () => {
      faults = await printFaults(standalone, notes, printed);
    });
    for (const { line } of happened.values()) line?.end();
    const views = results.flatMap(({ outcome: { facts } }) => {
      if (facts === undefined) return [];
      const { cleared, changes, drift } = of(facts.gathered.instance.meta);
      const view = viewInstance(facts, standalone);
      return [{ ...view, cleared, changes, warnings: [...drift, ...view.warnings] }];
    });
    const comment = { command: "apply", verdictOf: applyVerdict, faults: faultTexts(faults, views, "apply") } as const;
    const done = () => views.flatMap((view) => instanceLines(view, applyVerdict(view), out.paint));
    await print(out, options.output, { instances: views }, comment, () =>
      views.length === 0 ? [] : [...objectTable(views, out.paint), "", ...done()],
    );
    const isFailed = hasFailed(standalone, notes, views, faults, "apply");
    if (stopping().stop.aborted && standalone.lost() === undefined) {
      notes.line("Stopped. Completed changes are recorded: run the command again to continue.");
      return 130;
    }
    if (isFailed) return 2;
    if (review?.stray !== undefined) {
      const text = `the plan changed while it was applied, and wafsync stopped before a change that was not reviewed (${review.stray}). Run \`wafsync plan\` again.`;
      notes.remark("error", text);
      return 1;
    }
    const hasPendingClears = results.some(({ outcome }) => outcome.pendingClears > 0);
    return hasPendingClears || standalone.feedProblems().length > 0 || views.some(isIncomplete) ? 1 : 0;
  });
}

/** Prints a result in the requested format. @param lines for a terminal */
async function print(
  out: Terminal,
  output: PlanOptions["output"],
  result: { readonly hash?: string; readonly instances: readonly InstanceView[] },
  comment: Comment,
  lines: () => readonly string[],
): Promise<void> {
  if (output === "json") out.json(result);
  else if (output === "markdown") {
    const { markdownOf } = await import("./plan-markdown.ts");
    out.line(markdownOf(result.instances, comment));
  } else for (const line of lines()) out.line(line);
}

/** @returns 0 if it was stopped by a signal. */
export async function runFollow(options: RunOptions): Promise<number> {
  const printed = new Map<string, string>();
  const faultsPrinted = new Set<string>();
  const shows = options.metricsAddress !== undefined || options.metricsFile !== undefined;
  const output = shows ? (await import("./metrics-output.ts")).createMetricsOutput(options) : undefined;
  const how = ({ notes }: Session) => ({
    isDryRun: false,
    command: "wafsync run",
    metrics: output?.metrics,
    onEvent: (meta: ResourceMeta, event: ObjectEvent): void => {
      if (event.isRepeated !== true) notes.line(eventLine(meta, event, notes.paint));
    },
  });
  return await withStandalone(options, how, async (standalone, session) => {
    const { out, notes } = session;
    await output?.show(standalone, session);
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
        const state = isJson ? JSON.stringify(view) : remarkLines(view, out.paint).join("\n");
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

/** An error or a note about the files, with its place. */
interface Fault {
  readonly kind: RemarkKind;
  readonly text: string;
}

function hasErrors(faults: readonly Fault[]): boolean {
  return faults.some(({ kind }) => kind === "error");
}

function faultTexts(faults: readonly Fault[], views: readonly InstanceView[], act: string): string[] {
  const missing = views.length === 0 ? [noInstance(faults, act)] : [];
  return [...faults.map(({ kind, text }) => `${kind}: ${visibleText(text)}`), ...missing];
}

/**
 * Prints what is wrong with the files.
 * @param printed For a command that keeps running: the texts of the last call, which are not repeated. Updated by this call.
 */
async function printFaults(standalone: Standalone, notes: Terminal, printed?: Set<string>): Promise<readonly Fault[]> {
  const { faults, unattached } = standalone.faults();
  const all: Fault[] = faults.map((fault) => ({ kind: isError(fault) ? "error" : "note", text: faultText(fault) }));
  for (const { declared, problem } of unattached)
    all.push({ kind: "error", text: `${declared.meta.location}: spec.instanceRef: ${problem}` });
  for (const name of (await standalone.orphaned()).map(nameKey))
    all.push({
      kind: "warning",
      text: `WafInstance ${name} is no longer declared, and its managed entries stay on its WAF. If you renamed or moved it, add the annotation ${continuesAnnotation}: ${name} to the new instance, which then continues to manage them. To remove them from the WAF, declare the instance again without rules and origins.`,
    });
  for (const { kind, text } of all) if (printed?.has(text) !== true) notes.remark(kind, text);
  printed?.clear();
  for (const { text } of all) printed?.add(text);
  return all;
}

/** Prints what prevents the work, each with its place. @returns whether it does */
function hasFailed(
  standalone: Standalone,
  notes: Terminal,
  views: readonly InstanceView[],
  faults: readonly Fault[],
  act: string,
): boolean {
  for (const problem of standalone.feedProblems()) notes.remark("warning", problem);
  for (const { namespace, name, place, trouble } of views) {
    if (trouble !== undefined) notes.remark("error", `${place}: WafInstance ${namespace}/${name}: ${trouble}`);
  }
  if (views.length === 0) notes.remark("error", noInstance(faults, act));
  return hasErrors(faults) || views.length === 0 || views.some(({ trouble }) => trouble !== undefined);
}

/** The message for a folder without a valid instance. */
function noInstance(faults: readonly Fault[], act: string): string {
  const why = hasErrors(faults) ? "No WafInstance in this folder is valid" : "There is no WafInstance in this folder";
  return `${why}, so there is nothing to ${act}.`;
}
