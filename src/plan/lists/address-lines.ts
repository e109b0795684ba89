// The text of an `addressesFrom` ConfigMap: one entry a line, `#` comments, blank lines, white space around an entry.

export interface AddressLine {
  readonly text: string;
  /** Where a person finds it, for example `ConfigMap feeds/ipsum, key list, line 12`. */
  readonly source: string;
}

/** The entries of a text, in its order. `source` names the text; each entry's own source adds its line, from 1. */
export function readAddressLines(text: string, source: string): AddressLine[] {
  const lines: AddressLine[] = [];
  let lineNumber = 0;
  for (const line of text.split("\n")) {
    lineNumber += 1;
    const entry = entryOnLine(line);
    if (entry !== "") lines.push({ text: entry, source: `${source}, line ${lineNumber}` });
  }
  return lines;
}

/** Without its comment and the white space around it; empty if there is nothing else. */
export function entryOnLine(line: string): string {
  const comment = line.indexOf("#");
  return (comment === -1 ? line : line.slice(0, comment)).trim();
}
