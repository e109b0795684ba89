// The headers of the page's tables.
import { html } from "../report/html.ts";
import type { Markup } from "../report/html.ts";

/** The title of a column; `number` marks a column of numbers. */
export type Heading = string | { readonly number: string };

export function tableHead(headings: readonly Heading[]): Markup {
  return html`<thead>
    <tr>
      ${headings.map((heading) => cell(heading, html``))}
    </tr>
  </thead>`;
}

/** With explicit roles, because the styles of narrow screens remove the implicit ones from the class `stack`. */
export function stackHead(headings: readonly Heading[]): Markup {
  return html`<thead role="rowgroup">
    <tr role="row">
      ${headings.map((heading) => cell(heading, html` role="columnheader"`))}
    </tr>
  </thead>`;
}

function cell(heading: Heading, role: Markup): Markup {
  if (typeof heading === "string") return html`<th scope="col" ${role}>${heading}</th>`;
  return html`<th scope="col" ${role} class="number">${heading.number}</th>`;
}
