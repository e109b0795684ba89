// A string without white space, so that several of them fit on one line of text.

/** The names of objects and hosts stay as they are. */
export function encodeWord(text: string): string {
  return text.replaceAll(/[%\s\p{Cc}]/gu, (character) => encodeURIComponent(character));
}

/** Undefined stays undefined; null is a word that can't be decoded. */
export function decodeWord(word: string | undefined): string | undefined | null {
  if (word === undefined) return undefined;
  try {
    return word === "" ? null : decodeURIComponent(word);
  } catch {
    return null;
  }
}
