// Builds HTML from templates. Every value in a template is escaped, unless it is `Markup`. Strings that attackers control
// therefore stay text, whatever characters they contain.
import { shortened } from "../../model/sentence.ts";

/** HTML that is safe to insert into other HTML. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = string | number | Markup | readonly Markup[];

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
  if (typeof part === "string") return part.replaceAll(/[&<>"']/g, (character) => entities[character] ?? "");
  return "text" in part ? part.text : part.map(({ text }) => text).join("");
}

/** Characters that are invisible, or that change the direction of the text around them. */
const unseen = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Cn}\p{Zl}\p{Zp}]/gu;

/** One line of at most `lengthMax` characters, without invisible ones. */
export function visibleText(text: string, lengthMax: number): string {
  return shortened(text, lengthMax).replaceAll(unseen, "\u{FFFD}");
}
