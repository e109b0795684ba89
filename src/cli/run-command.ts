// `wafsync run`: keeps every WAF in its declared state until a signal. Prints one line per event, and what each run with a change did.
import { realClock } from "../async/clock.ts";
import { nameKey, type ResourceMeta } from "../model/resource.ts";
import type { ObjectEvent } from "../run/ports.ts";
import type { RunOptions } from "./commands/folder-commands.ts";
import { printFaults } from "./folder-faults.ts";
import { viewInstance } from "./instance-view.ts";
import { countsLine, remarkLines } from "./print-instance.ts";
import type { Session } from "./session.ts";
import { withStandalone } from "./targets/folder-runs.ts";
import type { Paint } from "./terminal.ts";

/** @returns 0 if it was stopped by a signal. */
export async function runFollow(options: RunOptions): Promise<number> {
  const printed = new Map<string, string>();
  const faultsPrinted = new Set<string>();
  const how = {
    isDryRun: false,
    command: "wafsync run",
    onEvent:
      ({ notes }: Session) =>
      (meta: ResourceMeta, event: ObjectEvent) => {
        if (event.isRepeated !== true) notes.line(eventLine(meta, event, notes.paint));
      },
  };
  return await withStandalone(options, how, async (standalone, { out, notes }) => {
    await printFaults(standalone, notes, faultsPrinted);
    notes.line(`${time(notes.paint)}  Watching ${options.from}. Press Ctrl-C to stop.`);
    await standalone.follow(
      () => void printFaults(standalone, notes, faultsPrinted),
      ({ instance, outcome: { facts } }) => {
        if (facts === undefined) return;
        const view = viewInstance(facts, standalone);
        const { trouble, added, removed, adopted } = view;
        const before = printed.get(nameKey(instance));
        const isJson = options.output === "json";
        const state = isJson
          ? JSON.stringify({ ...view, operations: undefined })
          : remarkLines(view, out.paint).join("\n");
        printed.set(nameKey(instance), state);
        // A failure is an event. A resync without a change prints nothing.
        const isWorthCounting = trouble === undefined && (before === undefined || added + removed + adopted > 0);
        if (!isJson && isWorthCounting) out.line(countsLine(view, out.paint));
        if (state !== before && state !== "") out.line(state);
      },
    );
    if (standalone.lost() === undefined)
      notes.line(`${time(notes.paint)}  Stopped. Completed changes are recorded: the next run continues from here.`);
    return 0;
  });
}

function eventLine(meta: ResourceMeta, { type, reason, message }: ObjectEvent, paint: Paint): string {
  const mark = paint(type === "Warning" ? "yellow" : "green", type.padEnd(7));
  return `${time(paint)}  ${mark}  ${meta.kind} ${nameKey(meta)}  ${paint("bold", reason)}: ${message}`;
}

/** The time of day in UTC, like the timestamps in a status. */
function time(paint: Paint): string {
  return paint("dim", `${new Date(realClock.nowMs()).toISOString().slice(11, 19)}Z`);
}
