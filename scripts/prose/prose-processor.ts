// What textlint reads of a file that is not Markdown: the same text, in which only prose is left, so that places stay right.
import type { TxtDocumentNode, TxtParagraphNode } from "@textlint/ast-node-types";
import type { TextlintKernelPlugin } from "@textlint/kernel";

/** A stretch of prose: as long as what it stands for, with marks of comments and code blanked out. */
export interface Prose {
  readonly start: number;
  readonly text: string;
}

type Position = TxtDocumentNode["loc"]["start"];

/** Blanks the code in backticks, which no rule is about, and escape sequences. */
export function withoutCode(text: string): string {
  return text
    .replaceAll(/`[^`\n]*`/g, (code) => "_".repeat(code.length))
    .replaceAll(/\\./g, (escape) => " ".repeat(escape.length));
}

/** Blanks what is not prose, but keeps the lines. */
export function blank(text: string): string {
  return text.replaceAll(/[^\n]/g, " ");
}

export function prosePlugin(
  pluginId: string,
  extensions: readonly string[],
  proseOf: (text: string) => readonly Prose[],
): TextlintKernelPlugin {
  class Processor {
    availableExtensions(): string[] {
      return [...extensions];
    }

    processor(): ReturnType<InstanceType<TextlintKernelPlugin["plugin"]["Processor"]>["processor"]> {
      return {
        preProcess: (text) => documentOf(text, proseOf(text)),
        postProcess: (messages, filePath) => ({ messages, filePath: filePath ?? "" }),
      };
    }
  }
  return { pluginId, plugin: { Processor } };
}

function documentOf(source: string, pieces: readonly Prose[]): { text: string; ast: TxtDocumentNode } {
  const positionOf = positionsIn(source);
  let text = "";
  for (const piece of pieces) text += blank(source.slice(text.length, piece.start)) + piece.text;
  text += blank(source.slice(text.length));
  const nodeOf = (start: number, raw: string) => ({
    raw,
    range: [start, start + raw.length] as const,
    loc: { start: positionOf(start), end: positionOf(start + raw.length) },
  });
  const children = pieces.map(({ start, text: value }) => {
    const node = nodeOf(start, value);
    return { type: "Paragraph", ...node, children: [{ type: "Str", value, ...node }] } as unknown as TxtParagraphNode;
  });
  return { text, ast: { type: "Document", ...nodeOf(0, text), children } as unknown as TxtDocumentNode };
}

function positionsIn(text: string): (offset: number) => Position {
  const lineStarts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
  return (offset) => {
    let low = 0;
    let high = lineStarts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((lineStarts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (lineStarts[low] ?? 0) };
  };
}
