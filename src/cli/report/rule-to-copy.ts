// A section with a rule as YAML, and a button that copies it.
import { html } from "./html.ts";
import type { Markup } from "./html.ts";

interface RuleToCopy {
  readonly id: string;
  readonly title: string;
  readonly advice: string;
  /** YAML. */
  readonly rule: string;
}

export function ruleToCopy({ id, title, advice, rule }: RuleToCopy): Markup {
  return html`<section id="${id}">
    <div class="head">
      <div>
        <h2>${title}</h2>
        <p class="quiet">${advice}</p>
      </div>
      <button type="button" data-copies="${id}-yaml" hidden>Copy</button>
    </div>
    <pre id="${id}-yaml" tabindex="0" aria-label="${title}, as YAML">${rule}</pre>
  </section>`;
}
