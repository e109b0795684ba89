// The parts that pages consist of: sections, tiles, warnings, marks, commands to copy, and tables. On narrow screens, the rows of wide tables
// become cards.
import type { InstanceSummary } from "../kinds/summary.ts";
import { inThousands, shortened, dayMs, hourMs, minuteMs } from "../model/texts.ts";
import { type Markup, html } from "./html.ts";

/** In characters. */
const reasonLengthMax = 60;
const warningsShownMax = 20;
const marks = { False: ["bad", "Not ready"], Unknown: ["open", ""], True: ["good", "Ready"] } as const;
/** A section with a heading. */
export function section(id: string, title: string, content: Markup | readonly Markup[], kind = ""): Markup {
  return html`<section id="${id}" aria-labelledby="${id}-title" class="${kind}">
    <h2 id="${id}-title">${title}</h2>
    ${content}
  </section>`;
}

/** A numeric value is formatted. */
export interface Tile {
  readonly name: string;
  readonly value: number | string;
}

export function tiles(items: readonly Tile[]): Markup {
  return html`<dl class="tiles" id="tiles">
    ${items.map(
      ({ name, value }) =>
        html`<div class="tile">
          <dt>${name}</dt>
          <dd>${cellText(value)}</dd>
        </div>`,
    )}
  </dl>`;
}

/** Nothing if there are no lines. */
export function warnings(title: string, lines: readonly string[]): Markup[] {
  if (lines.length === 0) return [];
  const items = lines.slice(0, warningsShownMax).map((line) => html`<li>${line}</li>`);
  const list = html`<ul>
    ${items}
  </ul>`;
  return [section("warnings", title, [list, ...moreThan(items.length, lines.length)], "warning")];
}

/** `… and 12 more`; nothing if all are shown. */
function moreThan(shown: number, count: number): Markup[] {
  return count > shown ? [html`<p class="quiet">… and ${inThousands(count - shown)} more</p>`] : [];
}

/** A command or a hash, with a button that copies it. Options are not broken behind their hyphens. */
export function copyable(text: string): Markup {
  const words = text.split(" ");
  const parts = words.map((word, place) => html`${place === 0 ? "" : " "}<span>${word}</span>`);
  return html`<code class="copy">${parts}</code> ${copyButton}`;
}

/** The script shows it, and copies the element before it. */
export const copyButton = html`<button type="button" class="copies">Copy</button>`;

export function stateMark({ ready, reason }: Pick<InstanceSummary, "ready" | "reason">): Markup {
  const [kind, words] = marks[ready];
  const detail = ready === "True" ? "" : shortened(reason || "Not reported yet", reasonLengthMax);
  return html`<span class="mark ${kind}">${[words, detail].filter((part) => part !== "").join(": ")}</span>`;
}

const units = [
  [dayMs, "d"],
  [hourMs, "h"],
  [minuteMs, "min"],
] as const;

/** How long ago a time was when the page was generated, or how far ahead it is. A tooltip shows the time. */
export function ageOf(time: string | undefined, now: string): Markup {
  if (time === undefined) return html`never`;
  const ageMs = Date.parse(now) - Date.parse(time);
  const spanMs = Math.abs(ageMs);
  const [unitMs, unit] = units.find(([unitMs]) => spanMs >= unitMs) ?? ([1_000, "s"] as const);
  const span = `${Math.floor(spanMs / unitMs)} ${unit}`;
  return html`<time datetime="${time}" title="${time}">${ageMs < 0 ? `in ${span}` : `${span} ago`}</time>`;
}

export function instancePath(instance: string): string {
  return `/instances/${instance.split("/").map(encodeURIComponent).join("/")}`;
}

export type Cell = Markup | string | number;

/** A column: its title, and its cell in each row. */
export interface Column<Row> {
  readonly title: string;
  /** A class of the cells: `number` aligns to the right; `words` and `path` take the free space. */
  readonly kind?: undefined | "number" | "address" | "path" | "text" | "time" | "words" | "name";
  readonly cell: (row: Row) => Cell;
}

/**
 * In a box that scrolls sideways, also by keyboard. The first cell of each row is its header.
 * @param label for screen readers
 * @param max how many rows are shown, of `count`
 */
export function dataTable<Row>(
  label: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  max = rows.length,
  count = rows.length,
): Markup {
  // Explicit roles, because the styles of narrow screens remove the implicit ones.
  const head = columns.map(
    ({ title, kind }) => html`<th role="columnheader" scope="col" class="${kind ?? ""}">${title}</th>`,
  );
  return html`<div class="scroll" role="group" tabindex="0" aria-label="${label}">
      <table class="${columns.length > 3 ? "cards" : ""}" role="table">
        <thead role="rowgroup">
          <tr role="row">
            ${head}
          </tr>
        </thead>
        <tbody role="rowgroup">
          ${rows.slice(0, max).map(
            (row) =>
              html`<tr role="row">
                ${columns.map((column, place) => cellOf(column, row, place))}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${moreThan(Math.min(max, rows.length), count)}`;
}

function cellOf<Row>({ title, kind, cell }: Column<Row>, row: Row, place: number): Markup {
  const content = html`<span>${cellText(cell(row))}</span>`;
  if (place === 0) return html`<th role="rowheader" scope="row" class="${kind ?? ""}">${content}</th>`;
  return html`<td role="cell" class="${kind ?? ""}" data-label="${title}">${content}</td>`;
}

function cellText(cell: Cell): Markup | string {
  return typeof cell === "number" ? inThousands(cell) : cell;
}
