// Describes removals on hold in short lines, which stay readable on a narrow terminal, and names the command that approves them.
import type { HeldGroup } from "../kinds/waf-instance.ts";
import { type ObjectName, nameKey } from "../model/resource.ts";
import { counted } from "../model/sentence.ts";
import { visibleTexts } from "../model/visible-text.ts";

const examplesShownMax = 3;
/** More entries than this get a line each. */
const inLineMax = 10;

/** The record in a folder from a repository may contain any names. */
export function holdLines(groups: readonly HeldGroup[], shownMax = examplesShownMax): string[] {
  return visibleTexts(groups).flatMap(({ list, count, owners, examples, reason }) => {
    const whose = owners === "" ? "" : `, last declared by ${owners}`;
    const shown = examples.slice(0, shownMax);
    const more = count > shown.length ? ", …" : "";
    const entries = shown.length > inLineMax ? shown : [`${shown.join(", ")}${more}`];
    return [
      `  ${counted(count, "removal", "removals")} from the ${list}${whose}`,
      ...entries.map((entry) => `    ${entry}`),
      `    ${reason}`,
    ];
  });
}

/** @param words the options that select the target: see `targetWords` */
export function approveCommand(words: string, instance: ObjectName): string {
  return `wafsync approve ${words}--instance ${nameKey(instance)}`;
}
