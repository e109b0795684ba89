// The text of an `addressesFrom` ConfigMap: one entry a line, `#` comments, blank lines, white space around an entry.

export interface AddressLine {
  readonly text: string;
  /** From 1, in its text or list. */
  readonly number: number;
}

/** The entries of a text, in its order, each with the number of its line. */
export function* readAddressLines(text: string): Generator<AddressLine, void> {
  let number = 0;
  for (const line of text.split("\n")) {
    number += 1;
    const entry = entryOnLine(line);
    if (entry !== "") yield { text: entry, number };
  }
}

/** Without its comment and the white space around it; empty if there is nothing else. */
export function entryOnLine(line: string): string {
  const comment = line.indexOf("#");
  return (comment === -1 ? line : line.slice(0, comment)).trim();
}
