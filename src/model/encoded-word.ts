// Encodes a string without white space, so that several of them fit on one line.

/** Names of objects and hosts stay unchanged. */
export function encodeWord(text: string): string {
  return text.replaceAll(/[%\s\p{Cc}]/gu, (character) => encodeURIComponent(character));
}

/** Undefined stays undefined; null for an invalid word. */
export function decodeWord(word: string | undefined): string | undefined | null {
  if (word === undefined) return undefined;
  try {
    return word === "" ? null : decodeURIComponent(word);
  } catch {
    return null;
  }
}
