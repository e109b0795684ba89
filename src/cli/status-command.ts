// `wafsync status`: shows every instance, its pending writes with their remaining time, its removals on hold with the command that
// approves them, and everything that is not Ready.
import packageJson from "../../package.json" with { type: "json" };
import type { InstanceSummary, ObjectSummary, Summary } from "../api/summary.ts";
import { summaryObjectsMax } from "../api/summary.ts";
import { realClock } from "../async/clock.ts";
import { nameKey } from "../model/resource.ts";
import { inThousands, shortened } from "../model/sentence.ts";
import { visibleTexts } from "../model/visible-text.ts";
import { CommandError, redactError } from "./describe-error.ts";
import { holdLines } from "./hold-lines.ts";
import type { Paint } from "./print-instance.ts";
import { withStopSignals } from "./stop-signals.ts";
import { heldOf, objectsNotReady, pendingOf, summarize } from "./summarize.ts";
import { tableLines, widthOf } from "./table.ts";
import { openTarget } from "./targets/open-target.ts";
import { planningWords } from "./targets/target-words.ts";
import type { TargetOptions } from "./targets/target.ts";
import { chosenInstances } from "./targets/target.ts";
import type { Terminal } from "./terminal.ts";
import { colour, terminalOn } from "./terminal.ts";

export interface StatusOptions extends TargetOptions {
  readonly watch: boolean;
  readonly output: "table" | "json";
}

const watchMs = 2_000;
const nameLengthMin = 12;
const notReadyFirst = { False: 0, Unknown: 1, True: 2 } as const;
const clearScreen = "\u001b[H\u001b[2J";
const header = ["INSTANCE", "DOMAIN", "READY", "REASON", "BLOCKED", "ALLOWED", "PENDING", "ON HOLD", "LAST SYNC"];

/** @returns 0 if all objects are Ready, otherwise 1; 130 if a signal stopped the watch. */
export async function runStatus(options: StatusOptions): Promise<number> {
  const out = terminalOn(process.stdout);
  if (!options.watch) {
    const summary = await readSummary(options);
    out.write(textOf(summary, options, out));
    return isWell(summary, options) ? 0 : 1;
  }
  return await withStopSignals(async ({ stop }) => {
    let last = "";
    while (!stop.aborted) {
      const text = textOf(await readSummary(options), options, out);
      // A file or a pipe gets only changes.
      if (text !== last) out.write(`${out.isInteractive ? clearScreen : last === "" ? "" : "\n"}${text}`);
      last = text;
      await realClock.sleep(watchMs, stop);
    }
    // The shell's prompt starts on a new line.
    if (out.isInteractive) out.line();
    return 130;
  });
}

async function readSummary(options: StatusOptions): Promise<Summary> {
  const target = await openTarget(options);
  try {
    const chosen = await chosenInstances(target, options.instance);
    const seen = await target.see(chosen[0]?.namespace);
    if (seen.refused !== undefined) throw new CommandError(seen.refused);
    const names = new Set(chosen.map(nameKey));
    const instances = seen.instances.filter((instance) => names.delete(nameKey(instance)));
    for (const name of names) throw new CommandError(`there is no WafInstance ${name} ${target.where}`);
    const isCluster = options.from === undefined;
    const words = { version: packageJson.version, isCluster, words: wordsFor(options) };
    const summary = visibleTexts(summarize({ ...seen, instances }, words));
    if (options.instance === undefined) return summary;
    // Only what concerns the selected instances.
    return { ...summary, totals: { ...summary.totals, unattached: 0 }, unattached: [], feeds: [] };
  } catch (error) {
    throw redactError(error, (text) => target.redactor.redact(text));
  } finally {
    await target.close();
  }
}

function wordsFor(options: StatusOptions) {
  return (instance: { readonly baseUrl: string }): string => planningWords(options, instance);
}

/** In a folder, a file with an error may declare anything. */
function isWell(summary: Summary, { from }: StatusOptions): boolean {
  const { instances, gaps } = summary;
  if (from !== undefined && gaps.length > 0) return false;
  return instances.every(({ ready }) => ready === "True") && objectsNotReady(summary) === 0;
}

function textOf(summary: Summary, { output }: StatusOptions, { isInteractive, columns }: Terminal): string {
  if (output === "json") return `${JSON.stringify(summary, undefined, 2)}\n`;
  const paint: Paint = (style, text) => colour(process.stdout, style, text);
  const instances = summary.instances.toSorted((a, b) => notReadyFirst[a.ready] - notReadyFirst[b.ready]);
  const rows = instances.map((instance) => rowOf(instance, paint));
  const lines = tableLines(header, isInteractive ? fitted(rows, columns) : rows);
  for (const instance of instances) lines.push(...detailsOf(instance, paint));
  const { unattached, totals, feeds, gaps } = summary;
  lines.push(...objectLines(unattached, totals.unattached));
  const failing = feeds.filter(({ ready }) => ready !== "True");
  lines.push(
    ...objectLines(
      failing.slice(0, summaryObjectsMax).map((feed) => ({ ...feed, kind: "WafFeed", name: feed.feed, progress: "" })),
      failing.length,
    ),
  );
  return [...lines, ...gaps.map((gap) => paint("dim", `note: ${gap}`))].map((line) => `${line}\n`).join("");
}

/** Shortens names, then domains, as far as the lines are wider than the terminal. */
export function fitted(rows: readonly string[][], columns: number): string[][] {
  return [0, 1].reduce(
    (before, column) => {
      const tooWide = Math.max(...tableLines(header, before).map(widthOf)) - columns;
      if (tooWide <= 0) return before;
      const lengthMax = Math.max(nameLengthMin, ...before.map((row) => (row[column] ?? "").length - tooWide));
      return before.map((row) => row.with(column, shortened(row[column] ?? "", lengthMax)));
    },
    [...rows],
  );
}

function rowOf(instance: InstanceSummary, paint: Paint): string[] {
  const { domain = "", ready, reason, blocklist, allowlist, lastSyncTime = "never" } = instance;
  const style = ready === "True" ? "green" : ready === "False" ? "red" : "yellow";
  const ifRead = (count: number | undefined): string =>
    blocklist === undefined || count === undefined ? "" : inThousands(count);
  return [
    instance.instance,
    domain,
    paint(style, ready),
    reason,
    ifRead(blocklist?.live),
    ifRead(allowlist?.live),
    ifRead(pendingOf(instance)),
    ifRead(heldOf(instance)),
    lastSyncTime,
  ];
}

function detailsOf(instance: InstanceSummary, paint: Paint): string[] {
  const { ready, reason, message, onHold, approve, objects, notReady } = instance;
  // Removals on hold are listed separately, by the rule that last declared the entries.
  const text = onHold.length > 0 && reason === "Held" ? [] : [`  ${message}`];
  const lines = ready === "True" ? [] : ["", paint("bold", instance.instance), ...text];
  lines.push(...holdLines(onHold));
  if (approve !== undefined) lines.push(paint("yellow", `  To see and approve them: ${approve}`));
  return [...lines, ...objectLines(objects, notReady)];
}

function objectLines(objects: readonly ObjectSummary[], count: number): string[] {
  const lines = objects.flatMap(({ kind, name, description, progress, reason, message }) => [
    "",
    `${kind} ${name}: ${reason === "" ? "Unknown" : reason}${progress === "" ? "" : ` (${progress})`}`,
    `  ${message}`,
    ...(description === undefined ? [] : [`  Description: ${description}`]),
  ]);
  const left = count - objects.length;
  return left > 0 ? [...lines, "", `… and ${inThousands(left)} more objects that are not Ready`] : lines;
}
