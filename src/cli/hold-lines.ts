// Describes removals on hold in short lines, which stay readable on a narrow terminal, and names the command that approves them.
import type { HeldGroup } from "../api/waf-instance.ts";
import type { ObjectName } from "../model/resource.ts";
import { nameKey } from "../model/resource.ts";
import { counted } from "../model/sentence.ts";
import { visibleTexts } from "../model/visible-text.ts";

const examplesShownMax = 3;

/** The record in a folder from a repository may contain any names. */
export function holdLines(groups: readonly HeldGroup[]): string[] {
  return visibleTexts(groups).flatMap(({ list, count, owners, examples, reason }) => {
    const whose = owners === "" ? "" : `, last declared by ${owners}`;
    const shown = examples.slice(0, examplesShownMax);
    const more = count > shown.length ? ", …" : "";
    return [
      `  ${counted(count, "removal", "removals")} from the ${list}${whose}`,
      `    ${shown.join(", ")}${more}`,
      `    ${reason}`,
    ];
  });
}

/** @param words the options that select the target: see `targetWords` */
export function approveCommand(words: string, instance: ObjectName): string {
  return `wafsync approve ${words}--instance ${nameKey(instance)}`;
}
