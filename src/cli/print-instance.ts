// Formats instances for people: the result of a run as a table of objects with counts, problems and notes, and a plan as its writes
// and all other differences from the declared state.
import { counted, inThousands } from "../model/sentence.ts";
import { visibleText } from "../model/visible-text.ts";
import type { DifferenceView, EntryView, InstanceView, ObjectView, OperationView } from "./instance-view.ts";
import { tableLines } from "./terminal.ts";
import type { Paint } from "./terminal.ts";

const entriesShownMax = 5;
const examplesMax = 5;

const objectHeader = ["KIND", "NAMESPACE", "NAME", "PROGRESS", "READY", "REASON"];

/** The first entries of an object, each with its position and message. */
function entryLines(entries: readonly EntryView[], count: number): string[] {
  const shown = entries.slice(0, entriesShownMax);
  const lines = shown.map(({ entry, source, message, place }) => {
    const isNamed = message.includes(entry);
    return `    ${place}: ${source}: ${isNamed ? "" : `${entry}: `}${message}`;
  });
  const left = count - shown.length;
  return left > 0 ? [...lines, `    … and ${inThousands(left)} more`] : lines;
}

/** Entries of feeds that are not applied. The user cannot correct them, and the rule is valid without them. */
export function feedLines({ objects }: InstanceView, paint: Paint): string[] {
  return objects.flatMap(({ kind, namespace, name, place, isAccepted, ready, rejected, rejectedCount }) => {
    if (rejected.length === 0 || !isAccepted || ready === "False") return [];
    const what = counted(rejectedCount, "entry of a feed is", "entries of feeds are");
    const title = `  ${place}: ${kind} ${namespace}/${name}: ${what} not applied`;
    return [paint("cyan", title), ...entryLines(rejected, rejectedCount)];
  });
}

/** Declared entries that another writer added: one line for each rule and list. */
function unmanagedLines({ unmanaged }: InstanceView, paint: Paint): string[] {
  const groups = Map.groupBy(unmanaged, ({ target, reason }) => `${target} ${reason}`);
  return [...groups.values()].flatMap((items) => {
    const [first] = items;
    return first === undefined ? [] : [paint("cyan", `  note: ${first.target} ${examplesOf(items)}: ${first.reason}`)];
  });
}

function examplesOf(items: readonly DifferenceView[]): string {
  const shown = items.slice(0, examplesMax).map(({ value }) => value);
  const left = items.length - shown.length;
  return `${shown.join(", ")}${left > 0 ? ` and ${inThousands(left)} more` : ""}`;
}

/** Objects with problems, and what to do. */
export function problemLines(view: InstanceView, paint: Paint): string[] {
  const lines = view.warnings.map((warning) => paint("yellow", `  warning: ${warning}`));
  for (const object of view.objects) {
    if ((object.ready !== "False" && object.isAccepted) || object.message === view.trouble) continue;
    const { kind, namespace, name, reason, place } = object;
    const count = counted(object.rejectedCount, "entry is", "entries are");
    const what = object.rejected.length === 0 ? "" : `, ${count} not applied`;
    lines.push(paint("red", `  ${place}: ${kind} ${namespace}/${name}: ${reason}${what}`));
    const { rejected, rejectedCount, message } = object;
    lines.push(...(rejected.length === 0 ? [`    ${message}`] : entryLines(rejected, rejectedCount)));
  }
  return lines;
}

/** Notes and problems, which follow the table of objects. */
function remarkLines(view: InstanceView, paint: Paint): string[] {
  return [...unmanagedLines(view, paint), ...feedLines(view, paint), ...problemLines(view, paint)];
}

/** The objects of all instances as a table, then their problems. */
export function resultLines(views: readonly InstanceView[], paint: Paint): string[] {
  const rows = views.flatMap((view) => view.objects.map((object) => objectRow(object, view, paint)));
  const lines = objectTable(rows, paint);
  for (const view of views) {
    if (view.trouble !== undefined) continue;
    const changes = (view.changes ?? []).map((change) => `  ${change}`);
    lines.push("", countsLine(view, paint), ...changes, ...remarkLines(view, paint));
  }
  return lines;
}

function objectTable(rows: readonly (readonly string[])[], paint: Paint): string[] {
  const header = objectHeader.map((title) => paint("dim", title));
  return tableLines(header, rows);
}

/**
 * Remembers what was shown about each instance and returns the lines for what is new: first all objects, then those whose
 * row has changed, and the problems whenever they have changed. No lines if nothing has changed.
 */
export class ChangedLines {
  readonly #paint: Paint;
  readonly #shownRows = new Map<string, ReadonlySet<string>>();
  readonly #shownProblems = new Map<string, string>();

  constructor(paint: Paint) {
    this.#paint = paint;
  }

  next(view: InstanceView): string[] {
    const paint = this.#paint;
    const instance = `${view.namespace}/${view.name}`;
    const before = this.#shownRows.get(instance);
    const rows = view.objects.map((object) => objectRow(object, view, paint));
    const changed = rows.filter((row) => before?.has(row.join(" ")) !== true);
    this.#shownRows.set(instance, new Set(rows.map((row) => row.join(" "))));
    const trouble = view.trouble === undefined ? [] : [paint("red", `${instance}: ${view.trouble}`)];
    const problems = [...trouble, ...remarkLines(view, paint)];
    const isNewProblem = (this.#shownProblems.get(instance) ?? "") !== problems.join("\n");
    this.#shownProblems.set(instance, problems.join("\n"));
    const lines = changed.length === 0 ? [] : objectTable(changed, paint);
    if (view.trouble === undefined && (changed.length > 0 || view.added + view.removed + view.adopted > 0)) {
      lines.push(countsLine(view, paint));
    }
    return isNewProblem ? [...lines, ...problems] : lines;
  }
}

function objectRow(object: ObjectView, view: InstanceView, paint: Paint): string[] {
  const style = object.ready === "True" ? "green" : object.ready === "False" ? "red" : "yellow";
  const progress = object.kind === "WafInstance" ? (view.domain ?? "") : readableProgress(object);
  return [object.kind, object.namespace, object.name, progress, paint(style, object.ready), object.reason];
}

/** `1,200/10,000`; states and triggers stay as they are. */
function readableProgress({ kind, progress }: ObjectView): string {
  return kind === "WafIpRule" ? progress.replaceAll(/\d+/g, (digits) => inThousands(Number(digits))) : progress;
}

type ListCounts = NonNullable<InstanceView["lists"]>["blocklist"];

function countsLine(view: InstanceView, paint: Paint): string {
  const { namespace, name, lists, added, removed, adopted, cleared = 0 } = view;
  if (lists === undefined) return "";
  const list = (title: string, { live, managed, foreign, held }: ListCounts): string => {
    const parts = [`${inThousands(managed)} managed`];
    if (foreign > 0) parts.push(`${inThousands(foreign)} unmanaged`);
    if (held > 0) parts.push(`${inThousands(held)} on hold`);
    return `${title} ${inThousands(live)} (${parts.join(", ")})`;
  };
  const clears = cleared === 0 ? [] : [counted(cleared, "cache clear", "cache clears")];
  const writes = added + removed === 0 ? [] : [`${inThousands(added)} added, ${inThousands(removed)} removed`];
  const adoptions = adopted === 0 ? [] : [`${inThousands(adopted)} adopted`];
  const done = [...writes, ...adoptions, ...clears].join(", ") || "nothing to change";
  return `${paint("bold", `${namespace}/${name}`)}: ${done}; ${list("blocklist", lists.blocklist)}, ${list("allowlist", lists.allowlist)}`;
}

/** Further lines of operations are only counted; `-o json` prints all of them. */
const operationsShownMax = 40;
/** How many operations with the same reason are shown. */
const operationsPerReasonMax = 5;

/**
 * The planned changes: one line each, with its reason. Nothing for an instance that cannot be reconciled.
 * @param isFaulty Whether some files, or parts of them, are not in the plan.
 */
export function planLines(view: InstanceView, paint: Paint, isFaulty: boolean): string[] {
  if (view.trouble !== undefined) return [];
  const lines = [headline(view, paint)];
  const problems = [...feedLines(view, paint), ...problemLines(view, paint)];
  if (!differsFromDeclared(view)) {
    const hasFaults = isFaulty || isPartial(view);
    const nothing = hasFaults
      ? "Nothing to do for the other objects."
      : "Nothing to do: the WAF matches the declared state.";
    return [...lines, ...problems, paint(hasFaults ? "bold" : "green", `  ${nothing}`)];
  }
  lines.push(
    ...groupLines(view.operations, paint),
    ...groupLines(view.held, paint, { mark: "!", style: "yellow" }),
    ...groupLines(view.waiting, paint, { mark: "?", style: "yellow" }),
    ...groupLines(view.unmanaged, paint, { mark: "*", style: "cyan" }),
  );
  return [...lines, ...problems, paint("bold", `  Plan: ${planSummary(view)}`)];
}

function headline(view: InstanceView, paint: Paint): string {
  const where = view.domain === undefined ? "" : ` → ${view.domain}`;
  const primary = view.primaryOrigin === undefined ? "" : paint("dim", `  (primary origin ${view.primaryOrigin})`);
  return `${paint("bold", `${view.namespace}/${view.name}`)}${where}${primary}`;
}

type Item = DifferenceView & { readonly operation?: OperationView["operation"] };

interface Mark {
  readonly mark: string;
  readonly style: Parameters<Paint>[0];
}

const marks: Readonly<Record<OperationView["operation"], Mark>> = {
  AddEntry: { mark: "+", style: "green" },
  AddOrigin: { mark: "+", style: "green" },
  RemoveEntry: { mark: "-", style: "red" },
  RemoveOrigin: { mark: "-", style: "red" },
  Adopt: { mark: "=", style: "cyan" },
  ClearCache: { mark: "~", style: "cyan" },
};

/** One line per item, in columns; long series with the same reason and long plans are shortened. */
function groupLines(items: readonly Item[], paint: Paint, fixed?: Mark): string[] {
  const groups = groupByReason(items, operationsPerReasonMax);
  // Entries are shown as the WAF's list spells them, which may include line breaks.
  const visible = groups.map((group) => ({ ...group, shown: group.shown.map(visibleItem) }));
  const shown = visible.flatMap((group) => group.shown);
  const targetWidth = Math.max(...shown.map(({ target }) => target.length));
  const valueWidth = Math.max(...shown.map(({ value }) => value.length));
  const lines = visible.flatMap((group) => {
    const texts = group.shown.map(({ operation, target, value, reason }) => {
      const { mark, style } = fixed ?? marks[operation ?? "AddEntry"];
      const text = `  ${mark} ${target.padEnd(targetWidth)}  ${value.padEnd(valueWidth)}`;
      return `${paint(style, text)}  ${paint("dim", reason)}`;
    });
    const summedUp = group.count - group.shown.length;
    const more = `    ${" ".repeat(targetWidth)}  … and ${inThousands(summedUp)} more like ${group.shown.length === 1 ? "this" : "these"}`;
    return summedUp > 0 ? [...texts, paint("dim", more)] : texts;
  });
  if (lines.length <= operationsShownMax) return lines;
  const left = inThousands(lines.length - operationsShownMax);
  return [...lines.slice(0, operationsShownMax), paint("dim", `  … and ${left} more lines (-o json shows all)`)];
}

function visibleItem(item: Item): Item {
  return { ...item, value: visibleText(item.value), reason: visibleText(item.reason) };
}

export interface ItemGroup<T> {
  readonly shown: T[];
  count: number;
}

/** Consecutive items that differ only in their value. At most `shownMax` of each group are kept; all are counted. */
export function groupByReason<T extends Item>(items: readonly T[], shownMax: number): ItemGroup<T>[] {
  const groups: ItemGroup<T>[] = [];
  for (const item of items) {
    const last = groups.at(-1);
    const first = last?.shown[0];
    const isAlike =
      first !== undefined &&
      first.operation === item.operation &&
      first.target === item.target &&
      first.reason === item.reason;
    if (last === undefined || !isAlike) {
      groups.push({ shown: [item], count: 1 });
      continue;
    }
    last.count += 1;
    if (last.shown.length < shownMax) last.shown.push(item);
  }
  return groups;
}

/** True if the WAF differs from the declared state. Errors in the files do not count here: they make a plan partial. */
export function differsFromDeclared(view: InstanceView): boolean {
  const { operations, held, refused, waiting, unmanaged } = view;
  return operations.length + held.length + refused.length + waiting.length + unmanaged.length > 0;
}

/** Parts of the declared state are invalid, and therefore not in the plan. */
export function isPartial({ objects }: InstanceView): boolean {
  return objects.some(({ isAccepted }) => !isAccepted);
}

/** `3 to add, 0 to remove, one call each.` */
export function planSummary(view: InstanceView): string {
  const { operations } = view;
  const count = (start: string): number => operations.filter(({ operation }) => operation.startsWith(start)).length;
  const [added, removed, adopted] = [count("Add"), count("Remove"), count("Adopt")];
  const parts = [
    `${inThousands(added)} to add${driftPart(view, added)}`,
    `${inThousands(removed)} to remove`,
    ...differenceParts(view, adopted),
  ];
  const each = adopted > 0 ? "one call for each other change" : "one call each";
  const calls = added + removed > 0 || operations.length > adopted ? [each] : [];
  const clear = count("ClearCache") === 0 ? "" : ", and one that clears the cache";
  return `${[...parts, ...calls].join(", ")}${clear}.`;
}

function driftPart({ driftCount }: InstanceView, added: number): string {
  return driftCount === 0 ? "" : ` (${inThousands(Math.min(driftCount, added))} removed by another writer)`;
}

function differenceParts(view: InstanceView, adopted: number): string[] {
  const { held, rejectedCount, waiting, unmanaged } = view;
  const counts: readonly (readonly [number, string])[] = [
    [adopted, "to adopt without a call"],
    [held.length, "on hold"],
    [rejectedCount, "rejected"],
    [waiting.length, "waiting"],
    [unmanaged.length, "already on the WAF and unmanaged"],
  ];
  return counts.flatMap(([count, what]) => (count === 0 ? [] : [`${inThousands(count)} ${what}`]));
}
