// `wafsync run`: keeps every WAF in its declared state until a signal. Prints one line per event.
import { realClock } from "../async/clock.ts";
import { nameKey } from "../model/resource.ts";
import type { ResourceMeta } from "../model/resource.ts";
import type { ObjectEvent } from "../reconcile/ports.ts";
import type { DirectoryOptions } from "./directory-session.ts";
import { printFaults, withSession } from "./directory-session.ts";
import { viewInstance } from "./instance-view.ts";
import { ChangedLines } from "./print-instance.ts";
import type { Terminal } from "./terminal.ts";
import { colour } from "./terminal.ts";

/** @returns 0 if it was stopped by a signal. */
export async function runFollow(options: DirectoryOptions): Promise<number> {
  const printed = new Map<string, string>();
  const faultsPrinted = new Set<string>();
  const how = {
    isDryRun: false,
    command: "wafsync run",
    onEvent: (notes: Terminal) => (meta: ResourceMeta, event: ObjectEvent) => {
      if (event.isRepeated !== true) notes.line(eventLine(meta, event));
    },
  };
  return await withSession(options, how, async (session) => {
    const { standalone, out, notes, paint } = session;
    await printFaults(session, faultsPrinted);
    notes.line(`${time()}  Watching ${options.from}. Press Ctrl-C to stop.`);
    const changes = new ChangedLines(paint);
    await standalone.follow(
      () => void printFaults(session, faultsPrinted),
      ({ instance, outcome: { facts } }) => {
        if (facts === undefined) return;
        const view = viewInstance(facts, standalone);
        if (options.output === "table") {
          const lines = changes.next(view);
          for (const line of lines.length === 0 ? [] : ["", ...lines, ""]) out.line(line);
          return;
        }
        // A resync without a change prints nothing.
        const text = JSON.stringify({ ...view, operations: undefined });
        if (printed.get(nameKey(instance)) === text) return;
        printed.set(nameKey(instance), text);
        out.line(text);
      },
    );
    if (standalone.lost() === undefined)
      notes.line(`${time()}  Stopped. Completed changes are recorded: the next run continues from here.`);
    return 0;
  });
}

function eventLine(meta: ResourceMeta, { type, reason, message }: ObjectEvent): string {
  const mark = colour(process.stderr, type === "Warning" ? "yellow" : "green", type.padEnd(7));
  return `${time()}  ${mark}  ${meta.kind} ${nameKey(meta)}  ${colour(process.stderr, "bold", reason)}: ${message}`;
}

/** The time of day in UTC, like the timestamps in a status. */
function time(): string {
  return colour(process.stderr, "dim", `${new Date(realClock.nowMs()).toISOString().slice(11, 19)}Z`);
}
