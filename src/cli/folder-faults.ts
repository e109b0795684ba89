// What plan, apply and run say about the files, feeds and instances of a folder.
import type { Standalone } from "../app/standalone.ts";
import { continuesAnnotation } from "../model/continues.ts";
import { nameKey } from "../model/resource.ts";
import { faultText } from "../source/directory/source-fault.ts";
import type { InstanceView } from "./instance-view.ts";
import { type Terminal, remark } from "./terminal.ts";

/** The errors and notes about the files, each with its place. */
export interface Faults {
  readonly lines: readonly { readonly kind: "error" | "warning" | "note"; readonly text: string }[];
  readonly isFaulty: boolean;
}

/**
 * Prints what is wrong with the files.
 * @param printed For a command that keeps running: the texts of the last call, which are not repeated. Updated by this call.
 */
export async function printFaults(
  standalone: Standalone,
  { line, paint }: Terminal,
  printed?: Set<string>,
): Promise<Faults> {
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
