// The frame of every page: the head, and for served pages the search and the two assets.
import type { Summary } from "../kinds/summary.ts";
import { hexDigest } from "../model/hex-digest.ts";
import { type Markup, type Part, html } from "./html.ts";
import { pageScript } from "./script.ts";
import type { PageResponse } from "./server.ts";
import { pageStyle } from "./style.ts";

/** A page without its frame. */
export interface Content {
  readonly title: string;
  readonly body: readonly Markup[];
  /** Whether it updates itself. Pages that call a WAF do not. */
  readonly isLive?: boolean;
  /** What the search form starts with: an address, and the WAF to which the search is limited. */
  readonly address?: string;
  readonly instance?: string;
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

/** A whole HTML document. */
export function documentOf(title: string, head: readonly Markup[], body: readonly Markup[]): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        ${head}
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
      </head>
      <body>
        ${body}
      </body>
    </html> `.text;
}

/** A page that the server serves. What it is about is shown next to the name of the program. */
export function framed({ where, version }: Pick<Summary, "where" | "version">, content: Content): string {
  const { title, body, isLive = false } = content;
  return documentOf(
    `${title} – wafsync`,
    [
      html`<link rel="stylesheet" href="${stylePath}" />`,
      ...(isLive ? [html`<noscript><meta http-equiv="refresh" content="30" /></noscript>`] : []),
      html`<script src="${scriptPath}" defer></script>`,
    ],
    [
      html`<a class="skip" href="#main">Skip to the content</a>
        <header class="bar">
          <div>
            <a class="brand" href="/">wafsync <span>${version} ${where}</span></a>
            ${searchForm(content)}
          </div>
        </header>`,
      html`<main id="main" ${isLive ? "data-live" : ""}>${body}</main>`,
    ],
  );
}

function searchForm({ address = "", instance = "" }: Content): Markup {
  return html`<form action="/why" method="get" role="search" autocomplete="off" spellcheck="false">
    <label for="address">Why is this address blocked or allowed?</label>
    <input id="address" name="address" value="${address}" required placeholder="192.0.2.1" />
    ${instance === "" ? "" : html`<input type="hidden" name="instance" value="${instance}" />`}
    <button type="submit">Search</button>
  </form>`;
}

/** The title of a page, and what it is about. */
export function heading(title: string, about: Part): Markup {
  return html`<div>
    <h1>${title}</h1>
    <p class="quiet">${about}</p>
  </div>`;
}

/** The heading of a page that updates itself. */
export function liveTitle(title: string, generatedAt: string, about = ""): Markup {
  const as = html`${about === "" ? "As" : `${about}, as`} of <time>${generatedAt}</time>`;
  return html`${heading(title, as)}
    <p class="lost-note" role="alert">The connection is lost: this page shows the last known state.</p>`;
}

/** A form that narrows what the page shows. `hidden` is sent along. */
export function filterForm(
  action: string,
  { label, name, value }: { readonly label: string; readonly name: string; readonly value: string },
  hidden: Readonly<Record<string, string>> = {},
): Markup {
  return html`<form action="${action}" method="get">
    ${Object.entries(hidden).map(([key, text]) => html`<input type="hidden" name="${key}" value="${text}" />`)}
    <label for="filter">${label}</label>
    <input id="filter" name="${name}" value="${value}" maxlength="100" />
    <button type="submit">Show</button>
  </form>`;
}
