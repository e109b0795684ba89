// Builds HTML from templates. Every string in a template is escaped, and characters that hide or reverse text are replaced, unless the
// value is `Markup`. Strings that attackers control therefore stay text, whatever characters they contain.
import { markedText } from "../model/visible-text.ts";

/** HTML that is safe to insert into other HTML. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Part = string | number | Markup | readonly Markup[];

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

function textOf(part: Part): string {
  if (typeof part === "number") return String(part);
  // Line breaks are white space in HTML.
  const visible = (text: string): string => text.split("\n").map(markedText).join("\n");
  if (typeof part === "string") return visible(part).replaceAll(/[&<>"']/g, (character) => entities[character] ?? "");
  return "text" in part ? part.text : part.map(({ text }) => text).join("");
}
