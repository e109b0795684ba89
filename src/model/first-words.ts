// Truncates an external string before it is searched for all known keys: messages show only its beginning.

/** In characters; several times what any message shows. */
export const searchedLengthMax = 8192;

/** The string up to whitespace before the limit: a cut within a word could leave half of a key, which contains no whitespace. */
export function firstWords(text: string): string {
  if (text.length <= searchedLengthMax) return text;
  return `${/^.*(?=\s)/su.exec(text.slice(0, searchedLengthMax))?.[0].trimEnd() ?? ""} …`;
}
