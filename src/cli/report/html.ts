// Text made into HTML. Everything that is put into a template is escaped, unless it is markup that was made here.
// What attackers wrote stays text, whatever characters it has.
import { shortened } from "../../model/sentence.ts";

/** HTML that is safe to put into other HTML. */
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

/** A template of HTML; attributes have to be in quotes. */
export function html(pieces: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(
    pieces.map((piece, index) => piece + (index < parts.length ? textOf(parts[index] ?? "") : "")).join(""),
  );
}

/** HTML that a library made, which has escaped what it holds. */
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

/** One line of at most so many characters, in which nothing is hidden. */
export function visibleText(text: string, lengthMax: number): string {
  return shortened(text, lengthMax).replaceAll(unseen, "\u{FFFD}");
}
