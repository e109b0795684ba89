// Formats instances for people: the result of a run as a table of objects with counts, problems and notes, and a plan as its writes
// and all other differences from the declared state.
import { counted, inThousands, listed } from "../model/sentence.ts";
import { listNames } from "../model/declared.ts";
import { nameKey } from "../model/resource.ts";
import { visibleTexts } from "../model/visible-text.ts";
import type { DifferenceView, InstanceView, OperationView } from "./instance-view.ts";
import { type ObjectView, objectLines } from "./object-view.ts";
import { type Paint, readyStyles, tableOf, type TextColumn } from "./terminal.ts";

const examplesMax = 5;

/** Declared entries that another writer added: one line for each rule and list. */
function unmanagedLines({ unmanaged }: InstanceView, paint: Paint): string[] {
  const groups = Map.groupBy(unmanaged, ({ target, reason }) => `${target} ${reason}`);
  return [...groups.values()].flatMap((items) => {
    const { target = "", reason = "" } = items[0] ?? {};
    const values = items.map(({ value }) => value);
    return paint("cyan", `  note: ${target} ${listed(values, examplesMax)}: ${reason}`);
  });
}

/** Objects with problems, with entries of feeds that are not applied, and what to do. */
export function problemLines({ warnings, objects, trouble }: InstanceView, paint: Paint): string[] {
  const lines = warnings.map((warning) => paint("yellow", `  warning: ${warning}`));
  for (const object of objects) {
    const isProblem = object.ready === "False" || !object.isAccepted;
    if ((!isProblem && object.rejected.length === 0) || object.message === trouble) continue;
    const [title, ...details] = objectLines(object, nameKey(object));
    lines.push(paint(isProblem ? "red" : "cyan", `  ${title}`), ...details.map((line) => `  ${line}`));
  }
  return lines;
}

/** Notes and problems. */
export function remarkLines(view: InstanceView, paint: Paint): string[] {
  return [...unmanagedLines(view, paint), ...problemLines(view, paint)];
}

const objectColumns: readonly TextColumn<ObjectView & Pick<InstanceView, "domain">>[] = [
  { title: "Kind", cell: ({ kind }) => kind },
  { title: "Namespace", cell: ({ namespace }) => namespace },
  { title: "Name", cell: ({ name }) => name },
  { title: "Progress", cell: progressOf },
  { title: "Ready", cell: ({ ready }, paint) => paint(readyStyles[ready], ready) },
  { title: "Reason", cell: ({ reason }) => reason },
];

/** The objects of all instances. */
export function objectTable(views: readonly InstanceView[], paint: Paint): string[] {
  const rows = views.flatMap(({ domain, objects }) => objects.map((object) => ({ ...object, domain })));
  return tableOf(objectColumns, rows, paint);
}

function progressOf({ kind, progress, domain = "" }: ObjectView & Pick<InstanceView, "domain">): string {
  if (kind === "WafInstance") return domain;
  // States and triggers stay as they are.
  return kind === "WafIpRule" ? progress.replaceAll(/\d+/g, (digits) => inThousands(Number(digits))) : progress;
}

/** What a run did, and what the lists show. */
export function countsLine(view: InstanceView, paint: Paint): string {
  const { lists, added, removed, adopted, cleared = 0 } = view;
  if (lists === undefined) return "";
  const done = [
    added + removed === 0 ? "" : `${inThousands(added)} added, ${inThousands(removed)} removed`,
    adopted === 0 ? "" : `${inThousands(adopted)} adopted`,
    cleared === 0 ? "" : counted(cleared, "cache clear", "cache clears"),
  ];
  const shown = listNames.map((list) => {
    const { live, managed, foreign, held } = lists[list];
    const unmanaged = foreign === 0 ? "" : `, ${inThousands(foreign)} unmanaged`;
    const onHold = held === 0 ? "" : `, ${inThousands(held)} on hold`;
    return `${list} ${inThousands(live)} (${inThousands(managed)} managed${unmanaged}${onHold})`;
  });
  return `${paint("bold", nameKey(view))}: ${done.filter((part) => part !== "").join(", ") || "nothing to change"}; ${shown.join(", ")}`;
}

/** Further lines of differences are only counted; `--full` prints all of them. */
const linesShownMax = 40;
/** How many differences with the same reason are shown. */
const linesPerReasonMax = 5;

/**
 * The planned changes: one line each, with its reason. Nothing for an instance that cannot be reconciled.
 * @param isFaulty Whether some files, or parts of them, are not in the plan.
 */
export function planLines(view: InstanceView, paint: Paint, isFaulty: boolean, isFull = false): string[] {
  if (view.trouble !== undefined) return [];
  const { text, isClean } = planVerdict(view, isFaulty);
  return [
    headline(view, paint),
    ...partsOf(view).flatMap((part) => differenceLines(part, paint, isFull)),
    ...problemLines(view, paint),
    paint(isClean ? "green" : "bold", `  ${text}`),
  ];
}

function headline(view: InstanceView, paint: Paint): string {
  const where = view.domain === undefined ? "" : ` → ${view.domain}`;
  const primary = view.primaryOrigin === undefined ? "" : paint("dim", `  (primary origin ${view.primaryOrigin})`);
  return `${paint("bold", nameKey(view))}${where}${primary}`;
}

/** What a plan says in one sentence. */
export function planVerdict(
  view: InstanceView,
  isFaulty: boolean,
): { readonly text: string; readonly isClean: boolean } {
  if (view.trouble !== undefined) return { text: "No plan: the WAF cannot be reconciled.", isClean: false };
  if (differsFromDeclared(view)) return { text: `Plan: ${planSummary(view)}`, isClean: false };
  if (isFaulty || isPartial(view)) return { text: "Nothing to do for the other objects.", isClean: false };
  return { text: "Nothing to do: the WAF matches the declared state.", isClean: true };
}

/** A kind of difference from the declared state: its mark, and what a count of them is called. */
interface Kind {
  readonly mark: string;
  readonly style: Parameters<Paint>[0];
  readonly one: string;
  readonly many: string;
}

export interface Difference extends DifferenceView {
  readonly kind: Kind;
}

function kind(mark: string, style: Kind["style"], one: string, many = one): Kind {
  return { mark, style, one, many };
}

const kinds = {
  Remove: kind("-", "red", "to remove"),
  Hold: kind("!", "yellow", "removal on hold", "removals on hold"),
  Add: kind("+", "green", "to add"),
  Adopt: kind("=", "cyan", "to adopt without a call"),
  Clear: kind("~", "cyan", "cache clear", "cache clears"),
  Wait: kind("?", "yellow", "waiting"),
  Unmanaged: kind("*", "cyan", "already on the WAF and unmanaged"),
};
/** The most important first. */
export const differenceKinds: readonly Kind[] = Object.values(kinds);

/** Every difference: the operations in the order of execution, and then what the plan does not correct. */
function partsOf({ operations, held, waiting, unmanaged }: InstanceView): Difference[][] {
  const all = (items: readonly DifferenceView[], kind: Kind) => items.map((item) => ({ ...item, kind }));
  const kindOf = ({ operation }: OperationView): Kind => {
    if (operation.startsWith("Add")) return kinds.Add;
    if (operation.startsWith("Remove")) return kinds.Remove;
    return operation === "Adopt" ? kinds.Adopt : kinds.Clear;
  };
  return [
    operations.map((item) => ({ ...item, kind: kindOf(item) })),
    all(held, kinds.Hold),
    all(waiting, kinds.Wait),
    all(unmanaged, kinds.Unmanaged),
  ];
}

export function differencesOf(view: InstanceView): Difference[] {
  return partsOf(view).flat();
}

/** One line each, in columns; long series with the same reason and long plans are shortened. */
function differenceLines(items: readonly Difference[], paint: Paint, isFull: boolean): string[] {
  // Entries are shown as the WAF's list spells them, which may include line breaks.
  const groups = groupByReason(items).map((all) => ({
    count: all.length,
    shown: visibleTexts(isFull ? all : all.slice(0, linesPerReasonMax)),
  }));
  const shown = groups.flatMap((group) => group.shown);
  const widthOf = (field: "target" | "value") => shown.reduce((most, one) => Math.max(most, one[field].length), 0);
  const [targetWidth, valueWidth] = [widthOf("target"), widthOf("value")];
  const lines = groups.flatMap((group) => {
    const texts = group.shown.map(({ kind: { mark, style }, target, value, reason }) => {
      const text = `  ${mark} ${target.padEnd(targetWidth)}  ${value.padEnd(valueWidth)}`;
      return `${paint(style, text)}  ${paint("dim", reason)}`;
    });
    const summedUp = group.count - group.shown.length;
    const more = `    ${" ".repeat(targetWidth)}  … and ${inThousands(summedUp)} more like ${group.shown.length === 1 ? "this" : "these"}`;
    return summedUp > 0 ? [...texts, paint("dim", more)] : texts;
  });
  if (isFull || lines.length <= linesShownMax) return lines;
  const left = inThousands(lines.length - linesShownMax);
  return [...lines.slice(0, linesShownMax), paint("dim", `  … and ${left} more lines (--full shows all)`)];
}

/** Consecutive differences that differ only in their value. */
export function groupByReason(items: readonly Difference[]): Difference[][] {
  const groups: Difference[][] = [];
  for (const item of items) {
    const { kind, target, reason } = groups.at(-1)?.[0] ?? {};
    if (kind === item.kind && target === item.target && reason === item.reason) groups.at(-1)?.push(item);
    else groups.push([item]);
  }
  return groups;
}

/** True if the WAF differs from the declared state. Errors in the files do not count here: they make a plan partial. */
export function differsFromDeclared(view: InstanceView): boolean {
  return differencesOf(view).length + view.refused.length > 0;
}

/** Parts of the declared state are invalid, and therefore not in the plan. */
export function isPartial({ objects }: InstanceView): boolean {
  return objects.some(({ isAccepted }) => !isAccepted);
}

/** `3 to add, 0 to remove, one call each.` */
function planSummary(view: InstanceView): string {
  const differences = differencesOf(view);
  const count = (kind: Kind): number => differences.filter((one) => one.kind === kind).length;
  const [added, adopted] = [count(kinds.Add), count(kinds.Adopt)];
  const drift =
    view.driftCount === 0 ? "" : ` (${inThousands(Math.min(view.driftCount, added))} removed by another writer)`;
  const others = [
    [adopted, kinds.Adopt.many],
    [view.held.length, "on hold"],
    [view.rejectedCount, "rejected"],
    [view.waiting.length, kinds.Wait.many],
    [view.unmanaged.length, kinds.Unmanaged.many],
  ] as const;
  const parts = [
    `${inThousands(added)} to add${drift}`,
    `${inThousands(count(kinds.Remove))} to remove`,
    ...others.flatMap(([number, what]) => (number === 0 ? [] : [`${inThousands(number)} ${what}`])),
  ];
  if (view.operations.length > adopted) parts.push(adopted > 0 ? "one call for each other change" : "one call each");
  return `${parts.join(", ")}${count(kinds.Clear) === 0 ? "" : ", and one that clears the cache"}.`;
}
