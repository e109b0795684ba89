// Formats a plan and a result for people.
import type { EntryView, InstanceView, ObjectView, OperationView } from "./instance-view.ts";
import { tableLines } from "./table.ts";

/** Further lines of operations are only counted; `-o json` has all of them. */
const operationsShownMax = 40;
/** How many operations with the same reason are shown. */
const operationsPerReasonMax = 5;
const entriesShownMax = 5;
const objectHeader = ["KIND", "NAMESPACE", "NAME", "PROGRESS", "READY", "REASON"];

export type Paint = (style: "red" | "green" | "yellow" | "cyan" | "bold" | "dim", text: string) => string;

/**
 * The planned changes: one line each, with its reason. Nothing for an instance that cannot be reconciled.
 * @param isFaulty Whether some files, or parts of them, are not in the plan.
 */
export function planLines(view: InstanceView, paint: Paint, isFaulty: boolean): string[] {
  if (view.trouble !== undefined) return [];
  const lines = [headline(view, paint)];
  const { operations, held } = view;
  const problems = [...carvedLines(view, paint), ...problemLines(view, paint)];
  if (operations.length + held.length === 0) {
    const isPartial = isFaulty || view.objects.some(({ isAccepted }) => !isAccepted);
    const nothing = isPartial ? "Nothing to do for the rest." : "Nothing to do: the WAF is as declared.";
    return [...lines, ...problems, paint(isPartial ? "bold" : "green", `  ${nothing}`)];
  }
  lines.push(...operationLines(operations, paint));
  for (const { target, value, reason } of held.slice(0, operationsPerReasonMax)) {
    lines.push(paint("yellow", `  ! ${target.padEnd(10)} ${value}  ${reason}`));
  }
  if (held.length > operationsPerReasonMax) {
    lines.push(paint("yellow", `  ! … and ${held.length - operationsPerReasonMax} more on hold (-o json shows all)`));
  }
  return [...lines, ...problems, summaryLine(view, paint)];
}

function headline(view: InstanceView, paint: Paint): string {
  const where = view.domain === undefined ? "" : ` → ${view.domain}`;
  const primary = view.primaryOrigin === undefined ? "" : paint("dim", `  (primary origin ${view.primaryOrigin})`);
  return `${paint("bold", `${view.namespace}/${view.name}`)}${where}${primary}`;
}

const marks = {
  AddEntry: { mark: "+", style: "green" },
  AddOrigin: { mark: "+", style: "green" },
  RemoveEntry: { mark: "-", style: "red" },
  RemoveOrigin: { mark: "-", style: "red" },
  Adopt: { mark: "=", style: "cyan" },
  ClearCache: { mark: "~", style: "cyan" },
} as const;

/** One line per operation, in columns; long series with one reason and long plans are shortened. */
function operationLines(operations: readonly OperationView[], paint: Paint): string[] {
  const groups = groupOperations(operations);
  const shown = groups.flatMap(({ shown }) => shown);
  const targetWidth = Math.max(...shown.map(({ target }) => target.length));
  const valueWidth = Math.max(...shown.map(({ value }) => value.length));
  const lines = groups.flatMap(({ shown, summedUp }) => {
    const texts = shown.map(({ operation, target, value, reason }) => {
      const { mark, style } = marks[operation];
      const text = `  ${mark} ${target.padEnd(targetWidth)}  ${value.padEnd(valueWidth)}`;
      return `${paint(style, text)}  ${paint("dim", reason)}`;
    });
    if (summedUp > 0) texts.push(paint("dim", `    ${" ".repeat(targetWidth)}  … and ${summedUp} more like these`));
    return texts;
  });
  if (lines.length <= operationsShownMax) return lines;
  const left = lines.length - operationsShownMax;
  return [...lines.slice(0, operationsShownMax), paint("dim", `  … and ${left} more lines (-o json shows all)`)];
}

interface OperationGroup {
  readonly shown: OperationView[];
  summedUp: number;
}

/** Consecutive operations that differ only in their value. */
function groupOperations(operations: readonly OperationView[]): OperationGroup[] {
  const groups: OperationGroup[] = [];
  for (const operation of operations) {
    const last = groups.at(-1);
    const first = last?.shown[0];
    const isAlike =
      first?.operation === operation.operation &&
      first.target === operation.target &&
      first.reason === operation.reason;
    if (last === undefined || !isAlike) groups.push({ shown: [operation], summedUp: 0 });
    else if (last.shown.length < operationsPerReasonMax) last.shown.push(operation);
    else last.summedUp += 1;
  }
  return groups;
}

function summaryLine({ operations, held }: InstanceView, paint: Paint): string {
  const count = (start: string): number => operations.filter(({ operation }) => operation.startsWith(start)).length;
  const parts = [`${count("Add")} to add`, `${count("Remove")} to remove`];
  if (count("Adopt") > 0) parts.push(`${count("Adopt")} to adopt without a call`);
  if (held.length > 0) parts.push(`${held.length} on hold`);
  const clear = count("ClearCache") === 0 ? "" : ", and one that clears the cache";
  const calls = count("Adopt") > 0 ? "one call for each other change" : "one call each";
  return paint("bold", `  Plan: ${parts.join(", ")}, ${calls}${clear}.`);
}

/** The first entries of an object, each with its place and what there is to say about it. */
function entryLines(entries: readonly EntryView[], count: number): string[] {
  const shown = entries.slice(0, entriesShownMax);
  const lines = shown.map(({ entry, source, message, place }) => {
    const isNamed = message.includes(entry);
    return `    ${place}: ${source}: ${isNamed ? "" : `${entry}: `}${message}`;
  });
  const left = count - shown.length;
  return left > 0 ? [...lines, `    … and ${left} more`] : lines;
}

/** Entries that are written otherwise than they are declared: as it should be, and still to be known. */
function carvedLines({ objects }: InstanceView, paint: Paint): string[] {
  return objects.flatMap(({ kind, namespace, name, place, carved, carvedCount }) => {
    if (carvedCount === 0) return [];
    const what = carvedCount === 1 ? "1 entry is" : `${carvedCount} entries are`;
    const title = `  ${place}: ${kind} ${namespace}/${name}: ${what} written as narrower networks`;
    return [paint("cyan", title), ...entryLines(carved, carvedCount)];
  });
}

/** Objects with problems, and what to do. */
export function problemLines(view: InstanceView, paint: Paint): string[] {
  const lines = view.warnings.map((warning) => paint("yellow", `  warning: ${warning}`));
  for (const object of view.objects) {
    if ((object.ready !== "False" && object.isAccepted) || object.message === view.trouble) continue;
    const { kind, namespace, name, reason, place } = object;
    const count = object.rejectedCount === 1 ? "1 entry is" : `${object.rejectedCount} entries are`;
    const what = object.rejected.length === 0 ? "" : `, ${count} not applied`;
    lines.push(paint("red", `  ${place}: ${kind} ${namespace}/${name}: ${reason}${what}`));
    const { rejected, rejectedCount, message } = object;
    lines.push(...(rejected.length === 0 ? [`    ${message}`] : entryLines(rejected, rejectedCount)));
  }
  return lines;
}

/** The objects of all instances as a table, then their problems. */
export function resultLines(views: readonly InstanceView[], paint: Paint): string[] {
  const rows = views.flatMap((view) => view.objects.map((object) => objectRow(object, view, paint)));
  const lines = objectTable(rows, paint);
  for (const view of views) {
    if (view.trouble !== undefined) continue;
    lines.push("", countsLine(view, paint), ...problemLines(view, paint));
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
    const problems = [...trouble, ...problemLines(view, paint)];
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
  const progress = object.kind === "WafInstance" ? (view.domain ?? "") : object.progress;
  return [object.kind, object.namespace, object.name, progress, paint(style, object.ready), object.reason];
}

type ListCounts = NonNullable<InstanceView["lists"]>["blocklist"];

function countsLine(view: InstanceView, paint: Paint): string {
  const { namespace, name, lists, added, removed, adopted, cleared = 0 } = view;
  if (lists === undefined) return "";
  const list = (title: string, { live, managed, foreign, held }: ListCounts): string => {
    const parts = [`${managed} ours`];
    if (foreign > 0) parts.push(`${foreign} foreign`);
    if (held > 0) parts.push(`${held} held`);
    return `${title} ${live} (${parts.join(", ")})`;
  };
  const clears = cleared === 0 ? [] : [cleared === 1 ? "1 cache clear" : `${cleared} cache clears`];
  const writes = added + removed === 0 ? [] : [`${added} added, ${removed} removed`];
  const adoptions = adopted === 0 ? [] : [`${adopted} adopted`];
  const done = [...writes, ...adoptions, ...clears].join(", ") || "nothing to change";
  return `${paint("bold", `${namespace}/${name}`)}: ${done}; ${list("blocklist", lists.blocklist)}, ${list("allowlist", lists.allowlist)}`;
}
