// Parses the text of an `addressesFrom` ConfigMap: one entry per line; comments (`#`), blank lines and surrounding whitespace are ignored.

export interface AddressLine {
  readonly text: string;
  /** The position in its text or list, starting at 1. */
  readonly number: number;
}

/** The entries of a text, in order, each with its line number. */
export function* readAddressLines(text: string): Generator<AddressLine, void> {
  let number = 0;
  for (const line of text.split("\n")) {
    number += 1;
    const entry = entryOnLine(line);
    if (entry !== "") yield { text: entry, number };
  }
}

/** The line without its comment and surrounding whitespace; may be empty. */
export function entryOnLine(line: string): string {
  const comment = line.indexOf("#");
  return (comment === -1 ? line : line.slice(0, comment)).trim();
}
