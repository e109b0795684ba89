// The parts that all pages share: the head, the search, the region for screen reader announcements, and the two assets.
import { hexDigest } from "../../model/hex-digest.ts";
import type { Markup } from "../report/html.ts";
import { html, visibleText } from "../report/html.ts";
import { pageScript } from "./page-script.ts";
import { pageStyle } from "./page-style.ts";
import type { PageResponse } from "./page-server.ts";

const nameLengthMax = 300;
const linesLengthMax = 4_000;

export interface Frame {
  readonly title: string;
  /** What the page is about; shown next to the name of the program. */
  readonly where: string;
  readonly version: string;
  readonly body: readonly Markup[];
  /**
   * The state in words, for screen readers. Undefined for pages that don't update themselves, because an update would call a WAF.
   */
  readonly live?: string;
  readonly searched?: { readonly address: string; readonly instance: string };
}

function nameOf(text: string, extension: string): string {
  return `/assets/page-${hexDigest(text, 16)}.${extension}`;
}

const stylePath = nameOf(pageStyle, "css");
const scriptPath = nameOf(pageScript, "js");

export function assetAt(path: string): PageResponse | undefined {
  if (path === stylePath) return asset("text/css; charset=utf-8", pageStyle);
  return path === scriptPath ? asset("text/javascript; charset=utf-8", pageScript) : undefined;
}

function asset(type: string, body: string): PageResponse {
  return { status: 200, type, body, isImmutable: true };
}

/** A line of text from an external source, without invisible characters. */
export function shown(text: string, lengthMax = nameLengthMax): string {
  return visibleText(text, lengthMax);
}

/** The same for several lines of text. */
export function shownLines(lines: readonly string[]): string {
  return lines.map((line) => visibleText(line, linesLengthMax)).join("\n");
}

/** A command or a hash, with a button that the script shows. */
export function copyable(text: string): Markup {
  return html`<code class="copy">${shown(text, 1_000)}</code> <button type="button" class="copies">Copy</button>`;
}

export function instancePath(instance: string): string {
  return `/instances/${instance.split("/").map(encodeURIComponent).join("/")}`;
}

export function framed(frame: Frame): string {
  const { title, where, version, body, live } = frame;
  const main =
    live === undefined
      ? html`<main id="main">${body}</main>`
      : html`<main id="main" data-live data-summary="${live}">${body}</main>`;
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${shown(title)} – wafsync</title>
        <link rel="stylesheet" href="${stylePath}" />
        ${live === undefined ? "" : html`<noscript><meta http-equiv="refresh" content="30" /></noscript>`}
        <script src="${scriptPath}" defer></script>
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header class="bar">
          <div>
            <a class="brand" href="/">wafsync <span>${version} ${shown(where)}</span></a>
            ${searchForm(frame)}
          </div>
        </header>
        <p id="announcement" role="status"></p>
        ${main}
      </body>
    </html> `;
  return page.text;
}

function searchForm({ searched }: Frame): Markup {
  return html`<form action="/why" method="get" role="search">
    <label for="address">Why is this address blocked or allowed?</label>
    <input
      id="address"
      name="address"
      value="${shown(searched?.address ?? "", 60)}"
      maxlength="60"
      size="22"
      autocomplete="off"
      spellcheck="false"
      required
      placeholder="192.0.2.1"
    />
    ${searched === undefined || searched.instance === "" ? "" : html`<input type="hidden" name="instance" value="${shown(searched.instance, nameLengthMax)}" />`}
    <button type="submit">Search</button>
  </form>`;
}

/** A section that is replaced as a whole when it has changed. */
export function part(name: string, title: string, content: Markup | readonly Markup[], kind = ""): Markup {
  return html`<section data-part="${name}" aria-labelledby="${name}-title" class="${kind}">
    <h2 id="${name}-title">${title}</h2>
    ${content}
  </section>`;
}

/** A box that scrolls sideways, also by keyboard. */
export function scrolling(label: string, content: Markup): Markup {
  return html`<div class="scroll" tabindex="0" role="group" aria-label="${label}">${content}</div>`;
}

export function warnings(name: string, title: string, lines: readonly string[]): Markup[] {
  if (lines.length === 0) return [];
  const some = lines.slice(0, gapsShownMax).map((line) => html`<li>${shown(line, linesLengthMax)}</li>`);
  const more = lines.length - some.length;
  const rest = more > 0 ? html`<p class="quiet">… and ${more} more</p>` : html``;
  return [
    part(
      name,
      title,
      html`<ul>
          ${some}
        </ul>
        ${rest}`,
      "warning",
    ),
  ];
}

const gapsShownMax = 20;
