// `wafsync status`: shows every instance, its pending writes with their remaining time, its removals on hold with the command that
// approves them, and everything that is not Ready.
import { type InstanceSummary, type ObjectSummary, type Summary } from "../kinds/summary.ts";
import { inThousands, shortened, visibleTexts } from "../model/texts.ts";
import type { StatusOptions } from "./commands/incident-commands.ts";
import { objectLines, holdLines } from "./object-view.ts";
import { byNeed, countColumns, objectsNotReady, summarize, waitReason } from "./summarize.ts";
import { withTarget, chosenFrom, parseInstanceName } from "./targets/open-target.ts";
import type { SeenObject, Target } from "./targets/target.ts";
import { type Paint, readyStyles, tableOf, type Terminal, type TextColumn, widthOf } from "./terminal.ts";

const nameLengthMin = 12;

/** In a narrow terminal, the first two are shortened. */
const columns: readonly TextColumn<InstanceSummary>[] = [
  { title: "Instance", cell: ({ instance }) => instance },
  { title: "Domain", cell: ({ domain = "" }) => domain },
  { title: "Ready", cell: ({ ready }, paint) => paint(readyStyles[ready], ready) },
  { title: "Reason", cell: ({ reason }) => reason },
  ...countColumns.map(({ title, count }): TextColumn<InstanceSummary> => {
    return { title, cell: (instance) => count(instance)?.toLocaleString("en-US") ?? "" };
  }),
  { title: "Last sync", cell: ({ lastSyncTime = "never" }) => lastSyncTime },
];

/** @returns 0 if all objects are Ready, otherwise 1. */
export async function runStatus(options: StatusOptions): Promise<number> {
  return await withTarget(options, async (target, { out }) => {
    const summary = await readSummary(target, options);
    if (options.output === "json") out.json(summary);
    else print(summary, options, out);
    return isWell(summary, options) ? 0 : 1;
  });
}

async function readSummary(target: Target, options: StatusOptions): Promise<Summary> {
  const { instance: wanted } = options;
  const named = wanted === undefined ? undefined : parseInstanceName(wanted);
  const seen = await target.see(named?.namespace);
  const isInstance = ({ kind }: SeenObject): boolean => kind === "WafInstance";
  const chosen = new Set(chosenFrom(seen.objects.filter(isInstance), wanted, target));
  const objects = seen.objects.filter((one) => !isInstance(one) || chosen.has(one));
  const summary = visibleTexts(summarize({ ...seen, objects }, options));
  if (wanted === undefined) return summary;
  // Only what concerns the selected instances.
  return { ...summary, totals: { ...summary.totals, unattached: 0 }, unattached: [], feeds: [] };
}

/** In a folder, a file with an error may declare anything. */
function isWell(summary: Summary, { from }: StatusOptions): boolean {
  const { instances, gaps } = summary;
  if (from !== undefined && gaps.length > 0) return false;
  return instances.every(({ ready }) => ready === "True") && objectsNotReady(summary) === 0;
}

function print(summary: Summary, { from }: StatusOptions, out: Terminal): void {
  const { isInteractive, columns: width, paint } = out;
  const instances = byNeed(summary.instances);
  const lines = tableOf(columns, isInteractive ? fitted(instances, width) : instances, paint);
  for (const instance of instances) lines.push(...detailsOf(instance, paint));
  const { unattached, totals, feeds, gaps } = summary;
  const failing = feeds.filter(({ ready }) => ready !== "True").map((feed) => ({ ...feed, kind: "WafFeed" }));
  lines.push(...linesOf(unattached, totals.unattached));
  for (const feed of failing) lines.push("", ...objectLines(feed, feed.feed));
  // In a cluster, a gap is a kind that the user may not list.
  const kind = from === undefined ? "note" : "error";
  for (const line of lines) out.line(line);
  for (const gap of gaps) out.remark(kind, gap);
}

/** Shortens names, then domains, as far as the lines are wider than the terminal. */
export function fitted(instances: readonly InstanceSummary[], width: number): readonly InstanceSummary[] {
  return (["instance", "domain"] as const).reduce((rows, field) => {
    const tooWide = Math.max(...tableOf(columns, rows).map(widthOf)) - width;
    if (tooWide <= 0) return rows;
    const lengthMax = Math.max(nameLengthMin, ...rows.map((row) => (row[field] ?? "").length - tooWide));
    return rows.map((row) => ({ ...row, [field]: shortened(row[field] ?? "", lengthMax) }));
  }, instances);
}

function detailsOf(instance: InstanceSummary, paint: Paint): string[] {
  const { ready, onHold, approve, objects, notReady } = instance;
  const why = waitReason(instance);
  const lines = ready === "True" ? [] : ["", paint("bold", instance.instance), ...(why === "" ? [] : [`  ${why}`])];
  lines.push(...holdLines(onHold));
  if (approve !== undefined) lines.push(paint("yellow", `  To see and approve them: ${approve}`));
  // What the whole WAF waits for is printed once.
  const shown = objects.map((object) => (object.message === why ? { ...object, message: "" } : object));
  return [...lines, ...linesOf(shown, notReady)];
}

function linesOf(objects: readonly ObjectSummary[], count: number): string[] {
  const lines = objects.flatMap((object) => ["", ...objectLines(object, object.name)]);
  const left = count - objects.length;
  return left > 0 ? [...lines, "", `… and ${inThousands(left)} more objects that are not Ready`] : lines;
}
