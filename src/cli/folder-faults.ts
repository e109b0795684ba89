// What plan, apply and run say about the files, feeds and instances of a folder.
import type { Standalone } from "../app/standalone.ts";
import { continuesAnnotation } from "../model/continues.ts";
import { nameKey } from "../model/resource.ts";
import { faultText } from "../source/directory/source-fault.ts";
import type { InstanceView } from "./instance-view.ts";
import type { Terminal } from "./terminal.ts";
import { remark } from "./terminal.ts";

/**
 * Prints the errors and notes about the files, each with its place. Returns true if there is any error.
 * @param printed For a command that keeps running: the lines of the last call, which are not repeated. Updated by this call.
 */
export async function printFaults(
  standalone: Standalone,
  notes: Pick<Terminal, "line" | "paint">,
  printed?: Set<string>,
): Promise<boolean> {
  const { faults, unattached } = standalone.faults();
  const lines: string[] = [];
  for (const fault of faults) {
    const isError = fault.severity === "Error";
    // Transient faults would only distract a user who edits the files while they are watched.
    if (!isError && fault.isTransient && printed !== undefined) continue;
    lines.push(remark(notes.paint, isError ? "error" : "note", faultText(fault)));
  }
  for (const { place, problem } of unattached) {
    lines.push(remark(notes.paint, "error", `${place}: spec.instanceRef: ${problem}`));
  }
  for (const name of await standalone.orphaned()) {
    const text = `WafInstance ${nameKey(name)} is no longer declared, and its managed entries stay on its WAF. If you renamed or moved it, add the annotation ${continuesAnnotation}: ${nameKey(name)} to the new instance, which then continues to manage them. To remove them from the WAF, declare the instance again without rules and origins.`;
    lines.push(remark(notes.paint, "warning", text));
  }
  for (const line of lines) if (printed?.has(line) !== true) notes.line(line);
  printed?.clear();
  for (const line of lines) printed?.add(line);
  return faults.some(({ severity }) => severity === "Error") || unattached.length > 0;
}

/** Prints the problems of feeds, and why instances cannot be reconciled, each with its place. */
export function printTroubles(standalone: Standalone, { line, paint }: Terminal, views: readonly InstanceView[]): void {
  for (const problem of standalone.feedProblems()) line(remark(paint, "warning", problem));
  for (const { namespace, name, place, trouble } of views) {
    if (trouble !== undefined) line(remark(paint, "error", `${place}: WafInstance ${namespace}/${name}: ${trouble}`));
  }
}

/** The message for a folder without a valid instance. */
export function noInstance(isFaulty: boolean, act: string): string {
  if (isFaulty) return `No WafInstance in this folder is valid, so there is nothing to ${act}.`;
  return `There is no WafInstance in this folder, so there is nothing to ${act}.`;
}
