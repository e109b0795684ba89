// Reads CSV as specified in RFC 4180. It shares no code with the writer, so it detects the writer's bugs.

/** The cells of each line; a cell without any characters is undefined, and `""` is an empty string. */
export function* csvRows(text: string): Generator<readonly (string | undefined)[]> {
  let row: (string | undefined)[] = [];
  let position = 0;
  while (position < text.length) {
    let cell: string | undefined;
    if (text[position] === '"') {
      cell = "";
      for (position += 1; ; position += 1) {
        const end = text.indexOf('"', position);
        if (end < 0) throw new TypeError("a quote is not closed");
        cell += text.slice(position, end);
        position = end + 1;
        if (text[position] !== '"') break;
        cell += '"';
      }
    } else {
      const match = /[,\n]/g;
      match.lastIndex = position;
      const end = match.exec(text)?.index ?? text.length;
      cell = end === position ? undefined : text.slice(position, end);
      if (cell?.includes('"') === true) throw new TypeError("a quote in a cell that has none around it");
      position = end;
    }
    row.push(cell);
    if (text[position] === "\n") {
      yield row;
      row = [];
    }
    position += 1;
  }
  if (row.length > 0) yield row;
}

/** The prefix that prevents a spreadsheet from reading a cell as a formula. */
export function withoutFormula(text: string): string {
  return /^[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]/.test(text) ? `'${text}` : text;
}
