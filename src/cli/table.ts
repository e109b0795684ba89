// Tables as kubectl prints them: upper-case headers, columns as wide as their widest cell, three spaces between them.
import { stripVTControlCharacters } from "node:util";

const gap = 3;

/** The lines of a table. Colour codes do not count as width. Rows have as many cells as the header. */
export function tableLines(header: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = header.map((title, column) =>
    Math.max(widthOf(title), ...rows.map((row) => widthOf(row[column] ?? ""))),
  );
  const render = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell + " ".repeat((widths[column] ?? 0) - widthOf(cell) + gap))
      .join("")
      .trimEnd();
  return [render(header), ...rows.map(render)];
}

export function widthOf(cell: string): number {
  return stripVTControlCharacters(cell).length;
}
