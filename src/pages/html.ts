// Builds HTML from templates. Every string in a template is truncated and escaped, and characters that hide or reverse text are replaced,
// unless the value is `Markup`. Strings that attackers control therefore stay text, whatever characters they contain, and stay short.
import { shortened, markedText } from "../model/texts.ts";

/** HTML that is safe to insert into other HTML. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Part = string | number | Markup | readonly Markup[];

/** In characters, as all limits here. */
const textLengthMax = 600;
const lineLengthMax = 4_000;

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** An HTML template. Attributes must be quoted. */
export function html(pieces: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(
    pieces.map((piece, index) => piece + (index < parts.length ? textOf(parts[index] ?? "") : "")).join(""),
  );
}

/** HTML from a library that escapes its input. */
export function trusted(text: string): Markup {
  return new Markup(text);
}

/** Text whose lines may be longer than other strings. */
export function longText(lines: readonly string[]): Markup {
  return new Markup(lines.map((line) => escaped(shortened(line, lineLengthMax))).join("\n"));
}

function escaped(text: string): string {
  // Line breaks are white space in HTML.
  const visible = text.split("\n").map(markedText).join("\n");
  return visible.replaceAll(/[&<>"']/g, (character) => entities[character] ?? "");
}

function textOf(part: Part): string {
  if (typeof part === "number") return String(part);
  if (typeof part === "string") return escaped(shortened(part, textLengthMax));
  return "text" in part ? part.text : part.map(({ text }) => text).join("");
}
