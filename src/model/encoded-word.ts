// Encodes a string without whitespace, so several of them fit on one line.

/** Printable ASCII without whitespace and percent signs, because V8 compiles Unicode classes slowly. */
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
