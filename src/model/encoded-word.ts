// Encodes a string without white space, so that several of them fit on one line.

/** Printable ASCII without white space and percent signs: V8 takes long to compile a pattern with classes of Unicode. */
const plain = /^[!-$&-~]*$/;

/** Names of objects and hosts stay unchanged. */
export function encodeWord(text: string): string {
  if (plain.test(text)) return text;
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
