// The history of an instance as table rows, with the same content as `wafsync history`.
import type { AddressCover } from "../../model/address-cover.ts";
import type { HistoryEvent } from "../../model/history.ts";
import { counted } from "../../model/sentence.ts";
import type { HistoryRow } from "../history-command.ts";
import { rowOf, valuesShownMax } from "../history-command.ts";
import type { Markup } from "../report/html.ts";
import { html } from "../report/html.ts";
import { scrolling, shown } from "./page-frame.ts";
import { stackHead } from "./table-head.ts";

export interface ShownHistory {
  /** Newest first. */
  readonly rows: readonly HistoryRow[];
  /** How many older rows are not shown. */
  readonly left: number;
}

export function newestRows(
  instance: string,
  events: readonly HistoryEvent[],
  cover: AddressCover | undefined,
  rowsMax: number,
): ShownHistory {
  const rows = events.flatMap((event) => rowOf(instance, event, cover)).toReversed();
  return { rows: rows.slice(0, rowsMax), left: Math.max(0, rows.length - rowsMax) };
}

export function historyTable({ rows, left }: ShownHistory): Markup {
  if (rows.length === 0) return html`<p>No changes are recorded.</p>`;
  const table = html`<table class="stack" role="table">
    ${stackHead(["Time", "Event", "List", "Entries", "For", "Note"])}
    <tbody role="rowgroup">
      ${rows.map(tableRow)}
    </tbody>
  </table>`;
  const more = left > 0 ? html`<p class="quiet">… and ${counted(left, "older change", "older changes")}</p>` : html``;
  return html`${scrolling("History", table)}${more}`;
}

function tableRow({ time, event, target, values, owners, note }: HistoryRow): Markup {
  const more = values.length > valuesShownMax ? ` and ${values.length - valuesShownMax} more` : "";
  return html`<tr role="row">
    <td role="cell" class="time">${time}</td>
    <td role="cell">${event}</td>
    <td role="cell">${target}</td>
    <td role="cell" class="words">${shown(values.slice(0, valuesShownMax).join(", "), 600)}${more}</td>
    <td role="cell" class="words" data-label="For">${shown(owners.join(", "), 600)}</td>
    <td role="cell" class="words" data-label="Note">${shown(note, 600)}</td>
  </tr>`;
}
