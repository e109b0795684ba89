// Formats the result of a run for people: a table of objects, counts, problems and notes.
import { counted, inThousands } from "../model/sentence.ts";
import type { DifferenceView } from "./operation-view.ts";
import type { EntryView, InstanceView, ObjectView } from "./instance-view.ts";
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
