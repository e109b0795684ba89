// How a plan and a result look to a person.
import type { InstanceView, ObjectView, OperationView } from "./instance-view.ts";
import { tableLines } from "./table.ts";

/** More operations than this are summed up; `-o json` has them all. */
const operationsShownMax = 40;
const rejectedShownMax = 5;

export type Paint = (style: "red" | "green" | "yellow" | "cyan" | "bold" | "dim", text: string) => string;

/** What would be, or was planned to be, changed: one line each, with its reason. */
export function planLines(view: InstanceView, paint: Paint): string[] {
  const lines = [headline(view, paint)];
  if (view.trouble !== undefined) return [...lines, paint("red", `  ${view.trouble}`)];
  const { operations, held } = view;
  if (operations.length + held.length === 0) {
    return [...lines, paint("green", "  Nothing to do: the WAF is as declared."), ...problemLines(view, paint)];
  }
  for (const operation of operations.slice(0, operationsShownMax)) lines.push(operationLine(operation, paint));
  if (operations.length > operationsShownMax) {
    lines.push(paint("dim", `  … and ${operations.length - operationsShownMax} more (-o json shows all)`));
  }
  for (const operation of held.slice(0, operationsShownMax)) {
    lines.push(paint("yellow", `  ! ${operation.target.padEnd(10)} ${operation.value}  held`));
  }
  if (view.approve !== undefined) {
    lines.push(
      paint(
        "yellow",
        `  To let the held removals through: annotate the instance with wafsync.dev/approve-removals: ${view.approve}`,
      ),
    );
  }
  return [...lines, summaryLine(view, paint), ...problemLines(view, paint)];
}

function headline(view: InstanceView, paint: Paint): string {
  const where = view.domain === undefined ? "" : ` → ${view.domain}`;
  const primary = view.primaryOrigin === undefined ? "" : paint("dim", `  (primary origin ${view.primaryOrigin})`);
  return `${paint("bold", `${view.namespace}/${view.name}`)}${where}${primary}`;
}

function operationLine({ operation, target, value, reason }: OperationView, paint: Paint): string {
  const isAdd = operation === "AddEntry" || operation === "AddOrigin";
  const text = `  ${isAdd ? "+" : "-"} ${target.padEnd(10)} ${value.padEnd(18)}`;
  return `${paint(isAdd ? "green" : "red", text)} ${paint("dim", reason)}`;
}

function summaryLine({ operations, held }: InstanceView, paint: Paint): string {
  const removals = operations.filter(({ operation }) => operation.startsWith("Remove")).length;
  const parts = [`${operations.length - removals} to add`, `${removals} to remove`];
  if (held.length > 0) parts.push(`${held.length} held`);
  return paint("bold", `  Plan: ${parts.join(", ")}, one call each.`);
}

/** Objects that are not well, with what to do. */
export function problemLines(view: InstanceView, paint: Paint): string[] {
  const lines: string[] = [];
  for (const object of view.objects) {
    if (object.ready !== "False" || object.message === view.trouble) continue;
    lines.push(
      paint("red", `  ${object.kind} ${object.namespace}/${object.name}: ${object.reason}`),
      `    ${object.message}`,
    );
    for (const { entry, source, message } of object.rejected.slice(0, rejectedShownMax)) {
      lines.push(paint("dim", `    ${entry} (${source}): ${message}`));
    }
    if (object.rejected.length > rejectedShownMax)
      lines.push(paint("dim", `    … and ${object.rejected.length - rejectedShownMax} more`));
  }
  return lines;
}

/** The objects of all instances as a table, then what is wrong with any of them. */
export function resultLines(views: readonly InstanceView[], paint: Paint): string[] {
  const rows = views.flatMap((view) => view.objects.map((object) => objectRow(object, view, paint)));
  const lines = tableLines(["KIND", "NAMESPACE", "NAME", "PROGRESS", "READY", "REASON"], rows);
  for (const view of views) {
    if (view.trouble !== undefined) {
      lines.push("", paint("red", `${view.namespace}/${view.name}: ${view.trouble}`));
      continue;
    }
    lines.push("", countsLine(view, paint), ...problemLines(view, paint));
  }
  return lines;
}

function objectRow(object: ObjectView, view: InstanceView, paint: Paint): string[] {
  const style = object.ready === "True" ? "green" : object.ready === "False" ? "red" : "yellow";
  const progress = object.kind === "WafInstance" ? (view.domain ?? "") : object.progress;
  return [object.kind, object.namespace, object.name, progress, paint(style, object.ready), object.reason];
}

function countsLine({ namespace, name, lists, added, removed }: InstanceView, paint: Paint): string {
  if (lists === undefined) return "";
  const list = (title: string, counts: { live: number; managed: number; foreign: number }): string =>
    `${title} ${counts.live} (${counts.managed} ours, ${counts.foreign} foreign)`;
  const done = added + removed === 0 ? "nothing to change" : `${added} added, ${removed} removed`;
  return `${paint("bold", `${namespace}/${name}`)}: ${done}; ${list("blocklist", lists.blocklist)}, ${list("allowlist", lists.allowlist)}`;
}
