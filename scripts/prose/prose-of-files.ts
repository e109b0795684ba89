// Where prose is found in TypeScript, and in files whose comments begin with a number sign.
import { parseSync, Visitor } from "oxc-parser";
import type { Prose } from "./prose-processor.ts";
import { blank, withoutCode } from "./prose-processor.ts";

/** Comments, and strings with a space in them. */
export function proseOfTypeScript(source: string): Prose[] {
  const { program, comments } = parseSync("source.ts", source);
  const found: Prose[] = comments.map(({ start, end }) => ({ start, text: proseOfComment(source.slice(start, end)) }));
  const addString = ({ start, end }: { readonly start: number; readonly end: number }): void => {
    const text = source.slice(start, end);
    if (text.includes(" ")) found.push({ start, text: withoutCode(text.replaceAll(/[$`{}]/g, "_")) });
  };
  new Visitor({
    Literal: (node) => {
      if (typeof node.value === "string") addString(node);
    },
    TemplateElement: addString,
  }).visit(program);
  return joined(found, source);
}

/** YAML, templates, shell scripts: their keys and commands are no prose, but no rule finds anything in them either. */
export function proseOfText(source: string): Prose[] {
  return [{ start: 0, text: withoutCode(source.replaceAll(/^\s*#+/gm, blank)) }];
}

function proseOfComment(comment: string): string {
  return withoutCode(comment.replaceAll(/^\/[/*]+|\*\/$|^\s*\* ?/gm, blank));
}

/** In their order, and comments of several lines as one: a term can begin on one line and end on the next. */
function joined(pieces: readonly Prose[], source: string): Prose[] {
  const all: Prose[] = [];
  for (const piece of pieces.toSorted((a, b) => a.start - b.start)) {
    const last = all.at(-1);
    const end = last === undefined ? 0 : last.start + last.text.length;
    const between = source.slice(end, piece.start);
    if (last !== undefined && piece.start < end) continue;
    if (last === undefined || !/^\n[ \t]*$/.test(between)) all.push(piece);
    else all[all.length - 1] = { start: last.start, text: last.text + between + piece.text };
  }
  return all;
}
