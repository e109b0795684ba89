// `wafsync history`: shows what was added, removed, adopted, rejected and approved, when, and for which rule.
import { formatTime, listed, visibleTexts } from "../model/texts.ts";
import { realClock } from "../async/clock.ts";
import { AddressCover } from "../address/ranges.ts";
import { readOwners } from "../model/rule-id.ts";
import type { HistoryEvent } from "../history/events.ts";
import { nameKey } from "../model/resource.ts";
import type { HistoryOptions } from "./commands/incident-commands.ts";
import { parseAddress, parseBound } from "./arguments.ts";
import { withTarget, chosenInstances } from "./targets/open-target.ts";
import { tableOf, type TextColumn } from "./terminal.ts";

export type HistoryRow = ReturnType<typeof rowOf>[number];

/** The maximum number of entries per event in a table; `-o json` prints all. */
const valuesShownMax = 5;

/** Of tables on a terminal, and on the page, where some take more space. */
export const historyColumns = [
  { title: "Time", cell: ({ time }) => time },
  { title: "Instance", cell: ({ instance }) => instance },
  { title: "Event", cell: ({ event }) => event },
  { title: "List", cell: ({ target }) => target },
  { title: "Entries", kind: "words", cell: ({ values }) => listed(values, valuesShownMax) },
  { title: "For", kind: "text", cell: ({ owners }) => owners.join(", ") },
  { title: "Note", kind: "text", cell: ({ note }) => note },
] satisfies (TextColumn<HistoryRow> & { readonly kind?: "words" | "text" })[];

/** @returns 0 if the period has changes, 1 if not. */
export async function runHistory(text: string | undefined, options: HistoryOptions): Promise<number> {
  const cover = text === undefined ? undefined : new AddressCover(parseAddress(text));
  const nowMs = realClock.nowMs();
  const { startMs: sinceMs } = parseBound("--since", options.since, nowMs);
  const { endMs: untilMs } = parseBound("--until", options.until, nowMs);
  return await withTarget(options, async (target, { out, notes }) => {
    const rows: HistoryRow[] = [];
    for (const instance of await chosenInstances(target, options.instance)) {
      const events = await target.history(instance);
      const within = events.filter(({ atMs }) => atMs >= sinceMs && atMs < untilMs);
      rows.push(...within.flatMap((event) => rowOf(nameKey(instance), event, cover)));
    }
    const covering = text === undefined ? "" : ` of entries that cover ${text}`;
    rows.sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
    if (options.output === "json") out.json({ events: rows });
    else if (rows.length === 0) out.line(`No changes${covering} are recorded for this period.`);
    // A folder from a repository may contain a history that others wrote.
    else for (const line of tableOf(historyColumns, visibleTexts(rows))) out.line(line);
    const isNewest = untilMs > nowMs && options.from === undefined && options.output === "table";
    if (isNewest) notes.remark("note", "The changes of the last ten seconds may be missing.");
    return rows.length === 0 ? 1 : 0;
  });
}

/** The event as a row; with an address, only the entries that cover it. */
export function rowOf(instance: string, event: HistoryEvent, cover: AddressCover | undefined) {
  const { atMs, kind, target, note } = event;
  const values = cover === undefined ? event.values : event.values.filter((value) => cover.find(value) !== undefined);
  if (values.length === 0) return [];
  const owners = readOwners(event.owners).map(({ kind: ownerKind, name }) => `${ownerKind} ${name}`);
  return [{ time: formatTime(atMs), instance, event: kind, target, values, owners, note }];
}
